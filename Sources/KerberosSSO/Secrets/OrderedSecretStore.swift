internal import Foundation
public import Kerberos
public import KerberosEngine

/// Several stores that are asked in their order; the first that can keeps a new password.
///
/// A principal's password is in one of them: where it is already, else in the first that takes it.
public struct OrderedSecretStore: SecretStore {
    private let stores: [any SecretStore]

    /// A store over others.
    public init(_ stores: [any SecretStore]) { self.stores = stores }

    /// The names of all.
    public var name: String { stores.map(\.name).joined(separator: " or ") }

    /// The first password that one of them has. One that can't be asked is passed over.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where none can be asked.
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

    /// Keeps a password, and removes it from the other stores, where it would be an old one some day.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, with every store's reason, where none takes it.
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
        let message = reasons.isEmpty ? "this machine has nothing that keeps passwords." : reasons.joined(separator: " ")
        throw KerberosError(.secretStoreUnusable, subject: principal.description, message: message)
    }

    /// Those that have the principal's password before those that have none.
    private func order(for principal: Principal) async -> [Int] {
        var (holding, others): ([Int], [Int]) = ([], [])
        for (index, store) in stores.enumerated() {
            if (try? await store.secret(for: principal)) != nil { holding.append(index) } else { others.append(index) }
        }
        return holding + others
    }

    /// Removes the password from each of them.
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
        // What can't be asked holds nothing that is used.
        if let failure, (try? await secret(for: principal)) != nil { throw failure }
        return hasRemoved
    }
}

extension SecretStore where Self == OrderedSecretStore {
    /// What this machine has: the kernel's keyring, the passwords that systemd delivers to this service, the desktop's Secret Service.
    public static var automatic: OrderedSecretStore { automatic(environment: ProcessInfo.processInfo.environment) }

    /// The same, with these variables in the place of the process's own.
    public static func automatic(environment: [String: String]) -> OrderedSecretStore {
        let stores: [(any SecretStore)?] = [
            KernelKeyringStore(), CredentialsDirectoryStore(environment: environment), SecretServiceStore(environment: environment),
        ]
        return OrderedSecretStore(stores.compactMap(\.self))
    }
}
