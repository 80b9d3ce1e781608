internal import Foundation
public import Kerberos
public import KerberosEngine

/// Combines several stores in order of preference.
///
/// A principal's password is in one of them: in the one that already has it, else in the first that accepts it.
public struct OrderedSecretStore: SecretStore {
    private let stores: [any SecretStore]

    /// Creates a store that combines others.
    public init(_ stores: [any SecretStore]) { self.stores = stores }

    /// The names of all stores.
    public var name: String { stores.map(\.name).joined(separator: " or ") }

    /// The first password found. Stores that cannot be read are skipped.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if no store can be read.
    public func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        var failures: [KerberosError] = []
        for store in stores {
            do throws(KerberosError) {
                if let secret = try await store.secret(for: principal) { return secret }
            } catch {
                failures.append(error)
            }
        }
        if let first = failures.first, failures.count == stores.count { throw first }
        return nil
    }

    /// Stores a password, and removes it from the other stores, where it would become outdated.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, with the reasons of all stores, if none accepts it.
    @discardableResult
    public func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        var reasons: [String] = []
        for index in await order(for: principal) {
            do throws(KerberosError) {
                let place = try await stores[index].store(secret, for: principal)
                for other in stores.indices where other != index { _ = try? await stores[other].remove(principal) }
                return place
            } catch {
                reasons.append(error.message)
            }
        }
        let message =
            reasons.isEmpty ? "this machine has no store for passwords. Sign in without --remember." : reasons.joined(separator: " ")
        throw KerberosError(.secretStoreUnusable, subject: principal.description, message: message)
    }

    /// The indices of the stores: first those that have the principal's password, then the others.
    private func order(for principal: Principal) async -> [Int] {
        var (holding, others): ([Int], [Int]) = ([], [])
        for (index, store) in stores.enumerated() {
            if (try? await store.secret(for: principal)) != nil { holding.append(index) } else { others.append(index) }
        }
        return holding + others
    }

    /// Removes the password from all stores.
    @discardableResult
    public func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        var (hasRemoved, failure): (Bool, KerberosError?) = (false, nil)
        for store in stores {
            do throws(KerberosError) {
                hasRemoved = try await store.remove(principal) || hasRemoved
            } catch {
                failure = failure ?? error
            }
        }
        // An error does not matter if no store returns the password any more.
        if let failure, (try? await secret(for: principal)) != nil { throw failure }
        return hasRemoved
    }
}

extension SecretStore where Self == OrderedSecretStore {
    /// The stores of this machine: the kernel's keyring, the passwords that systemd delivers to this service, and the desktop's Secret
    /// Service.
    public static var automatic: OrderedSecretStore { automatic(environment: ProcessInfo.processInfo.environment) }

    /// The stores of this machine, with other environment variables than the process's.
    public static func automatic(environment: [String: String]) -> OrderedSecretStore {
        let stores: [(any SecretStore)?] = [
            KernelKeyringStore(), CredentialsDirectoryStore(environment: environment), SecretServiceStore(environment: environment),
        ]
        return OrderedSecretStore(stores.compactMap(\.self))
    }
}
