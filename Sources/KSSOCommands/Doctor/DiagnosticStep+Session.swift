internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient

extension DiagnosticStep {
    /// Whether somebody is signed in to the realm.
    static let session = DiagnosticStep.check("session") { findings in
        guard let realm = findings.realm else { return .skipped("no realm is known.") }
        let list: SessionList
        let wanted: Principal?
        do throws(KerberosError) {
            list = try await findings.sso.sessions()
            let configuration = findings.configuration
            wanted =
                if configuration?.credentialUseMode == .kerberosDefault {
                    list.primary?.principal
                } else {
                    try configuration?.principalName.map { name throws(KerberosError) in
                        try Principal(typed: name, defaultRealm: configuration?.realm ?? realm)
                    }
                }
        } catch {
            return .failed(error.description)
        }
        let whom = wanted.map { "\($0) is" } ?? "nobody of \(realm) is"
        let signIn = "Sign in: ksso login\(wanted.map { " \($0)" } ?? "")"
        let kept = RuntimeDirectory(environment: findings.environment).keptTickets
        let remedy = [kept?.note, signIn].compactMap(\.self).joined(separator: "\n    ")
        guard let session = list.session(realm: wanted?.realm ?? realm, principal: wanted) else {
            if let damage = list.damagedCaches.first { return .failed("\(damage)") }
            return .failed(wanted == nil ? "\(whom) signed in." : "\(whom) not signed in.", remedy: remedy)
        }
        guard session.isSignedIn else {
            let end = session.ticketExpires.addingTimeInterval(-session.clockOffset)
            return .failed(
                "the ticket of \(session.principal) expired at \(Console.text(end)) by this machine's clock.",
                remedy: remedy
            )
        }
        findings.session = session
        return .ok("\(session.principal) is signed in, in \(session.cache).")
    }
}
