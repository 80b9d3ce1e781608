package import KerberosEngine
internal import Synchronization

/// The extension that is in office. Other profiles need another one: whoever asked the old one gets its answer from it, and what comes
/// later goes to the new one. The tickets are in the caches and stay.
package final class CurrentExtension: Sendable {
    private let current: Mutex<KerberosExtension>

    package init(_ initial: KerberosExtension) { current = Mutex(initial) }

    /// The extension to ask now. Ask for it anew for each request.
    package var value: KerberosExtension { current.withLock { $0 } }

    /// Puts another one in its place.
    package func replace(with successor: KerberosExtension) { current.withLock { $0 = successor } }
}
