internal import Foundation
public import Testing

/// The sanitizer with which a test process, and `ksso` from the same build, was built.
public enum Sanitizer: String, Sendable {
    case address
    case thread

    /// The sanitizer of this process; nil in an ordinary build.
    public static let current: Sanitizer? = {
        if dlsym(nil, "__asan_init") != nil { return .address }
        return dlsym(nil, "__tsan_init") != nil ? .thread : nil
    }()
}

extension Trait where Self == ConditionTrait {
    /// Skips a test in a build with a sanitizer under which it cannot pass; the run prints the reason.
    ///
    /// `grep -r 'skipped(under:' Tests` lists these tests, which the sanitizer never checks.
    public static func skipped(under sanitizer: Sanitizer, because reason: Comment) -> Self {
        .disabled(if: Sanitizer.current == sanitizer, reason)
    }
}
