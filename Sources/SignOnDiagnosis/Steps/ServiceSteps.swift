internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy
internal import SystemSupport

extension DiagnosticStep {
    /// Checks whether the KDC knows the service that the host's challenge requires.
    static let service = DiagnosticStep.check("service", limit: .seconds(8)) { findings in
        guard let plan = findings.server.plan else { return .nothing }
        guard let session = findings.tickets.session, let answer = findings.kdcs.answer else {
            return .skipped(findings.tickets.session == nil ? "no one is signed in." : "no KDC answered.")
        }
        let client = findings.sso.inspection.client(for: session.realm)
        var service: Principal?
        do throws(KerberosError) {
            let tickets = try await PrivateTickets(copying: session, with: client)
            findings.tickets.copies = tickets
            let wanted = try await findings.sso.inspection.service(of: plan, for: session, client: client)
            service = wanted
            let ticket = try await client.serviceTicket(for: wanted, in: tickets.cache, deadline: Duration.seconds(3).patient)
            findings.tickets.service = ticket
            let key = try await client.key(of: ticket)
            if let warning = await formerKey(key, plan, session, client, findings) { return warning }
            return .ok("the KDC knows \(ticket.server), and encrypts its tickets with its key \(key).")
        } catch {
            switch error.code {
            case .unknownService:
                if let service, let finding = await registered(service, session, findings) { return finding }
                return await unknown(service?.description ?? plan.servicePrincipal, plan, client, findings, answer.principal.realm)
            case .ticketRefused: return refused(error, session.principal, service)
            default: return .failed(error.description)
            }
        }
    }

    /// The warning for a cached ticket that is encrypted with another key than the KDC uses now.
    private static func formerKey(
        _ key: TicketKey,
        _ plan: AuthorizationPlan,
        _ session: Session,
        _ client: KerberosClient,
        _ findings: DiagnosticFindings
    ) async -> Finding? {
        guard let cached = await findings.sso.inspection.cachedTicket(for: plan, session: session),
            let former = try? await client.key(of: cached), former != key
        else { return nil }
        return .warning(
            "the KDC encrypts tickets for \(cached.server) with its key \(key), and the ticket in "
                + "\(session.cache) is from before the change: it is encrypted with the key \(former), which the server may no longer have.",
            remedy: "If the server refuses the ticket, request another one for all programs: "
                + "ksso fetch \(findings.subject.url?.absoluteString ?? "URL")"
        )
    }

    /// The failure for a ticket that looks valid but that the KDC cannot decrypt.
    private static func refused(_ error: KerberosError, _ principal: Principal, _ service: Principal?) -> Finding {
        let isAnothers = service.map { ![principal.realm, ""].contains($0.realm) } ?? false
        return .failed(
            "the KDC cannot decrypt the ticket-granting ticket of \(principal) (\(error.libraryMessage)).",
            remedy: "The realm's key was changed, or its KDC was reinstalled, after the ticket was issued. "
                + "Sign in again: ksso login --force \(principal)"
                + (isAnothers ? "\n    If that does not help, the keys of the trust between the two realms differ." : "")
        )
    }

    /// The failure for a service principal name that accounts of an Active Directory domain have, although the KDC issues no ticket for it;
    /// nil if none has it, or if the directory cannot be read.
    private static func registered(_ service: Principal, _ session: Session, _ findings: DiagnosticFindings) async -> Finding? {
        let reading = await firstResult(within: Duration.seconds(3).patient) { [inspection = findings.sso.inspection] in
            try? await inspection.accounts(ofService: service, for: session)
        }
        guard case let accounts?? = reading, let first = accounts.first else { return nil }
        let name = service.components.joined(separator: "/")
        guard accounts.count > 1 else {
            return .failed(
                "the KDC does not know the service \(name), although the account \(first) of the domain has this service principal name.",
                remedy: "Ask an administrator of the domain whether the account is disabled, and whether all controllers have the change."
            )
        }
        return .failed(
            "several accounts of the domain have the service principal name \(name), so that the KDC issues no ticket: "
                + "\(accounts.joined(separator: ", ")).",
            remedy: "Remove it from all accounts except the server's: setspn -D \(name) ACCOUNT, or samba-tool spn delete \(name) ACCOUNT"
        )
    }

    /// The failure for an unknown service. Checks whether the KDC knows the service by the host's canonical name.
    private static func unknown(
        _ service: String,
        _ plan: AuthorizationPlan,
        _ client: KerberosClient,
        _ findings: DiagnosticFindings,
        _ realm: String
    ) async -> Finding {
        let name = service.hasSuffix("@") ? String(service.dropLast()) : service
        let host = plan.origin.host
        guard let canonical = findings.server.canonicalName, let tickets = findings.tickets.copies else {
            return .failed(
                "the KDC does not know the service \(name).",
                remedy: "Check the host's name in the URL, or ask for the service principal to be added: "
                    + "setspn -S HTTP/\(host) ACCOUNT, or "
                    + "kadmin add_principal -randkey HTTP/\(host)"
            )
        }
        let other = "HTTP/\(canonical)"
        var isKnown = false
        if let principal = try? Principal("\(other)@\(realm)") {
            isKnown =
                (try? await client.serviceTicket(for: principal, in: tickets.cache, deadline: Duration.milliseconds(1000).patient)) != nil
        }
        return .failed(
            "the KDC does not know the service \(name): \(host) is an alias (CNAME) of \(canonical)"
                + (isKnown ? ", whose service \(other) it knows." : ", and it does not know \(other) either."),
            remedy: "Ask for HTTP/\(host) to be added to the account of the service (setspn -S)"
                + (isKnown ? ", or set the other in the profile: ServicePrincipals, {\(plan.origin): \(other)}" : ".")
        )
    }

    /// Checks whether a keytab on this machine contains the key that the KDC encrypts with.
    static let keytab = DiagnosticStep.check("keytab") { findings in
        guard let ticket = findings.tickets.service, let client = findings.client else {
            return findings.subject.keytab == nil ? .nothing : .skipped("there is no ticket to compare with the keytab.")
        }
        let contents: KeytabContents
        let key: TicketKey
        do throws(KerberosError) {
            key = try await client.key(of: ticket)
            contents = try await client.keytabContents(findings.subject.keytab)
        } catch {
            guard findings.subject.keytab != nil else {
                return .skipped("there is no readable keytab here. On the server, run: ksso doctor --keytab FILE URL")
            }
            return .failed(error.description, remedy: "Run this command on the server, as a user who can read its keytab.")
        }
        let own = contents.entries.filter { $0.principal == ticket.server }.map(\.key)
        if own.isEmpty, findings.subject.keytab == nil {
            return .skipped("\(contents.name) has no key of \(ticket.server); it is for other services.")
        }
        if let fault = KeytabFault(of: key, among: own) { return fault.finding(ticket.server, contents.name, key) }
        do throws(KerberosError) {
            try await client.checkDecryption(of: ticket, with: contents.name)
        } catch {
            return KeytabFault.otherKey.finding(ticket.server, contents.name, key)
        }
        return .ok("\(contents.name) has the key of \(ticket.server) that the KDC uses (\(key)).")
    }
}

/// The reason why a server with a keytab cannot decrypt the KDC's tickets.
enum KeytabFault {
    case noEntry
    case otherVersion([TicketKey])
    case otherEncryption([TicketKey])
    /// The principal, the version number and the encryption type match, but the key differs.
    case otherKey

    /// Derives the reason from the descriptions of the keys; nil if one matches.
    init?(of key: TicketKey, among own: [TicketKey]) {
        if own.contains(key) { return nil }
        let sameVersion = own.filter { $0.version == key.version }
        if own.isEmpty {
            self = .noEntry
        } else if sameVersion.isEmpty {
            self = .otherVersion(own)
        } else {
            self = .otherEncryption(sameVersion)
        }
    }

    func finding(_ service: Principal, _ keytab: String, _ key: TicketKey) -> Finding {
        let export = "Export the keytab again: ktadd or ktpass, and restart the server."
        switch self {
        case .noEntry:
            return .failed("\(keytab) has no key of \(service), for which the KDC issues tickets.", remedy: export)
        case .otherVersion(let own):
            let versions = Set(own.map(\.version)).sorted().map(String.init).joined(separator: ", ")
            return .failed(
                "the KDC encrypts tickets for \(service) with the key of kvno \(key.version), and \(keytab) has kvno \(versions): "
                    + "the keytab is \(own.allSatisfy { $0.version < key.version } ? "old" : "from another account").",
                remedy: export
            )
        case .otherEncryption(let own):
            let types = own.map(\.encryptionType).joined(separator: ", ")
            return .failed(
                "the KDC encrypts tickets for \(service) with \(key.encryptionType), and \(keytab) has kvno \(key.version) with another "
                    + "encryption type only: \(types).",
                remedy: "Export the keytab with all the account's encryption types, or allow the account to use that one."
            )
        case .otherKey:
            return .failed(
                "\(keytab) has a key of \(service) with the KDC's number (\(key)), and it does not decrypt the KDC's tickets: the service "
                    + "principal belongs to another account than the server's.",
                remedy: "Find the account: setspn -Q HTTP/HOST; move the service principal from it to the server's account."
            )
        }
    }
}
