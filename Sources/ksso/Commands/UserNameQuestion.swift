internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy
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
    ///   - unknown: The error of the name of the account.
    ///   - signIn: Signs in as a principal.
    /// - Throws: The error of the last attempt; `unknown` if the user enters no name.
    func ask<Value>(_ unknown: UnknownAccountName, _ signIn: (Principal) async throws -> Value) async throws -> Value {
        var error = unknown.error
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
        let profileLabel = sso.policy.signInRules(of: realm).userNameLabel.flatMap { $0.isEmpty ? nil : $0 }
        let label = profileLabel ?? "User name in \(realm)"
        let request = PromptRequest(
            principal: try await sso.names.defaultPrincipal(realm: realm),
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

    /// What became of a principal that later sign-ins should use.
    enum Recording: Equatable {
        /// It is in this file.
        case stored(String)
        /// It signs in anyway.
        case unnecessary
        /// The profile names another one, which signs in.
        case namedByProfile(String)
        /// There is no profile of the realm that it could be for.
        case withoutProfile

        /// Prints where the principal is stored, or why it is not.
        func report(_ principal: Principal) {
            switch self {
            case .stored(let file): Console.print("\(file): later sign-ins use \(principal).")
            case .unnecessary: break
            case .namedByProfile(let name):
                Console.note("\(principal) is not stored for later sign-ins, because the profile names \(name).")
            case .withoutProfile:
                Console.note("\(principal) is not stored for later sign-ins, because no profile of \(principal.realm) is installed.")
            }
        }
    }

    /// Stores the principal for later sign-ins, if the profile leaves it to the user and it is not the one that signs in anyway.
    func record(_ principal: Principal, environment: [String: String]) async throws -> Recording {
        let standard = try await sso.names.defaultPrincipal(realm: realm)
        // The principals of a test realm are temporary.
        guard standard != principal, !EnclosingRealm.isInside(environment) else { return .unnecessary }
        guard isOpen else { return .namedByProfile(standard.description) }
        guard sso.profiles.contains(where: { $0.payloads.contains { $0.realm == realm } }) else { return .withoutProfile }
        guard let file = UserPrincipalsFile(of: ProfileSearch(environment: environment)) else {
            throw CommandFailure(.failed, "there is no folder for it: HOME is not set.")
        }
        try StoredPrincipals(file: file).store(principal)
        return .stored(file.path)
    }
}

/// The KDC does not know the name of the account. The message names the command that signs in under another name.
struct UnknownAccountName: Error {
    let error: KerberosError
}
