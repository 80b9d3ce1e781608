import Foundation

@testable import Kerberos

/// Keys in this user's keyring of the kernel.
enum KernelKey {
    /// Whether the kernel has keyrings, and lets this process use them.
    static let isAvailable: Bool = {
        let name = "ksso-test:\(UUID().uuidString)"
        defer { remove(name) }
        return (try? KernelKeyring.store(Secret("x"), named: name)) != nil
    }()

    static func exists(_ name: String) -> Bool { (try? KernelKeyring.secret(named: name)) != nil }

    static func remove(_ name: String) { _ = try? KernelKeyring.remove(name) }
}
