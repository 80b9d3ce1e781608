internal import ActiveDirectory
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SystemSupport

extension DiagnosticStep {
    /// Reads the user's account in the directory of the realm's Active Directory domain. Says nothing
    /// about another realm.
    static let directory = DiagnosticStep.check("directory", limit: .seconds(8)) { findings in
        guard let session = findings.tickets.session else { return .nothing }
        let start = ContinuousClock.now
        let reading = await firstResult(within: Duration.seconds(6).patient) { [sso = findings.sso] in
            await result(of: session, sso)
        }
        switch reading {
        case .success(nil)?: return .nothing
        case .success(let fresh?)?:
            findings.tickets.session = fresh
            return finding(fresh, after: ContinuousClock.now - start)
        case .failure(let error)?: return finding(error)
        case nil:
            return .warning(
                "the directory of \(session.realm) did not answer in 6 seconds.",
                remedy: "Allow TCP port 389 to the controllers. Signing in does not need it."
            )
        }
    }

    /// The session with its account, as it was read now; nil if the realm is not an Active Directory domain.
    private static func result(of session: Session, _ sso: SingleSignOn) async -> Result<Session?, DirectoryError> {
        do throws(DirectoryError) {
            guard try await sso.readAccount(of: session) != nil else { return .success(nil) }
        } catch {
            return .failure(error)
        }
        return .success((try? await sso.sessions())?.sessions.first { $0.cache == session.cache })
    }

    private static func finding(_ session: Session, after time: Duration) -> Finding {
        let whom = "the account of \(session.principal)"
        let help = "Ask an administrator of the domain to "
        switch session.account?.problem {
        case .disabled?: return .failed("\(whom) is disabled, so that its tickets cannot be renewed.", remedy: "\(help)enable it.")
        case .locked?:
            return .failed(
                "\(whom) is locked after wrong passwords.",
                remedy: "\(help)unlock it, or wait until the domain does. A program with an old password locks it again."
            )
        case .expired?: return .failed("\(whom) has expired.", remedy: "\(help)extend it.")
        case let other?: return .failed("\(whom) is \(other.rawValue).")
        case nil: break
        }
        let detail = "the directory describes \(whom) (\(time.milliseconds) ms)"
        guard !session.isAccountOutdated else {
            return .ok("\(detail); the latest change of the password has not reached this controller yet.")
        }
        guard let expires = session.account?.passwordExpires else {
            let never = session.account?.passwordNeverExpires == true
            return .ok("\(detail): \(never ? "its password never expires" : "it does not say when its password expires").")
        }
        guard expires <= Date() else { return .ok("\(detail): its password expires on \(expires.localTextWithTimeLeft).") }
        return .warning("\(detail): its password must be changed.", remedy: "Change it with: ksso passwd \(session.principal)")
    }

    private static func finding(_ error: DirectoryError) -> Finding {
        let detail = "the directory was not read: \(error)"
        switch error.code {
        case .libraryMissing: return .skipped(error.message)
        case .noTicket where error.cause?.code == .unknownService:
            return .warning(
                detail,
                remedy: "Register the service in the domain: setspn -S ldap/\(error.subject)/DOMAIN CONTROLLER, or samba-tool spn add."
            )
        case .noTicket where [.accountLocked, .accountExpired, .policyRefused].contains(error.cause?.code): return .failed(detail)
        case .unreachable:
            return .warning(detail, remedy: "Allow TCP port 389 to the controllers. Signing in does not need it.")
        default: return .warning(detail)
        }
    }
}
