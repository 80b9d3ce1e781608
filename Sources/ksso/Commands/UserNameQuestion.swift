internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SystemSupport

/// The user's name in a realm, for a sign-in without a principal: if the KDC does not know the name of the account, the user is asked for
/// the right one, which is stored for later sign-ins.
struct UserNameQuestion {
    let realm: String
    let sso: SingleSignOn

    /// How often the user is asked.
    private static let limit = 3

    /// Whether the profile leaves the principal to the user, so that a stored one has an effect.
    var isOpen: Bool { !sso.profiles.contains { $0.namesPrincipal(of: realm) } }

    /// Signs in with the name that the user enters at the terminal.
    ///
    /// - Parameters:
    ///   - unknown: The error that reports that the KDC does not know the name of the account.
    ///   - signIn: Signs in as a principal.
    /// - Throws: The error of the last attempt; `unknown` if the user enters no name.
    func ask<Value>(_ unknown: KerberosError, _ signIn: (Principal) async throws -> Value) async throws -> Value {
        var error = unknown
        for _ in 0..<Self.limit {
            guard let name = try await answer(banner: error) else { throw unknown }
            do {
                return try await signIn(sso.principal(name, realm: realm))
            } catch let next as KerberosError where [.unknownPrincipal, .malformedPrincipal].contains(next.code) {
                error = next
            }
        }
        throw error
    }

    private func answer(banner error: KerberosError) async throws -> String? {
        let label = sso.kerberos.userNameLabel(of: realm) ?? "User name in \(realm)"
        let request = PromptRequest(
            principal: try await sso.kerberos.defaultPrincipal(realm: realm),
            banner: error.code == .unknownPrincipal ? "The KDC does not know \(error.subject)." : error.description,
            prompts: [.init(kind: .other, text: label, isHidden: false)]
        )
        let answer = await BlockingCall.run { Result { try TerminalPrompter().answers(to: request) } }
        do {
            let name = try answer.get().first?.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } ?? ""
            return name.trimmingCharacters(in: .whitespaces).isEmpty ? nil : name.trimmingCharacters(in: .whitespaces)
        } catch PromptRefusal.notInteractive {
            return nil
        } catch {
            throw CommandFailure(.canceled, "canceled.")
        }
    }

    /// Stores the principal for later sign-ins, if the profile leaves it to the user and it is not the one that signs in anyway.
    ///
    /// - Returns: The file; nil if nothing had to be stored.
    func record(_ principal: Principal, environment: [String: String]) async throws -> String? {
        let hasProfile = sso.profiles.contains { $0.payloads.contains { $0.realm == realm } }
        guard hasProfile, isOpen, principal.realm == realm else { return nil }
        guard try await sso.kerberos.defaultPrincipal(realm: realm) != principal else { return nil }
        guard let directory = ProfileSearch(environment: environment).userDirectory else { return nil }
        return try UserPrincipals.record(principal.description, in: directory)
    }
}
