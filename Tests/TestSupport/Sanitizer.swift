internal import Foundation
public import Testing

/// The sanitizer that a test process was built with, and with it `ksso`, which comes from the same build.
public enum Sanitizer: String, Sendable {
    case address
    case thread

    /// The one of this process; nil in an ordinary build.
    public static let current: Sanitizer? = {
        if dlsym(nil, "__asan_init") != nil { return .address }
        return dlsym(nil, "__tsan_init") != nil ? .thread : nil
    }()
}

extension Trait where Self == ConditionTrait {
    /// Skips a test in a build with a sanitizer under which it can't hold; the run prints the reason.
    ///
    /// `grep -r 'skipped(under:' Tests` lists these tests: each one is a test that no sanitizer looks at.
    public static func skipped(under sanitizer: Sanitizer, because reason: Comment) -> Self {
        .disabled(if: Sanitizer.current == sanitizer, reason)
    }
}
