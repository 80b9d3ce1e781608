internal import Foundation
package import Kerberos
internal import Synchronization

extension KerberosExtension {
    /// Signs a principal in by asking whoever sits at the machine (`Options/prompter`): once, however many programs wait for it.
    ///
    /// - Parameters:
    ///   - name: the principal, with or without its realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: the realm for a name that has none; nil is ``defaultRealm()``.
    ///   - options: what to ask of the KDC; those of the first that asks count.
    /// - Throws: `KerberosError`; `notInteractive` where there is no prompter, `canceled` when the person gives up.
    @discardableResult
    package func signInByAsking(
        _ name: String? = nil,
        realm: String? = nil,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        guard self.options.prompter != nil else {
            self.options.nobodyToAsk()
            throw .nobodyToAsk(name ?? realm ?? "")
        }
        let principal = if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        return try await ask(principal, options)
    }

    /// Who gives a certificate's PIN: the one that was given, else whoever sits at the machine, else nobody.
    package func prompter(pin: Secret?) -> any Prompter {
        if let pin { return GivenAnswer(pin) }
        return options.prompter ?? GivenAnswer(nil)
    }

    /// Ends the questions that are open; whoever waits for them gets `canceled`.
    package func cancelQuestions() { questionFlights.cancelAll() }

    /// The same for a request that needs a session.
    func sessionByAsking(_ name: Principal?, realm: String) async throws(KerberosError) -> Session {
        let principal = if let name { name } else { try await defaultPrincipal(realm: realm) }
        do throws(KerberosError) {
            return try await ask(principal, .init())
        } catch {
            throw name == nil && error.code == .unknownPrincipal ? .unknownUser(error) : error
        }
    }

    private func ask(_ principal: Principal, _ options: InitialCredentialOptions) async throws(KerberosError) -> Session {
        guard let prompter = self.options.prompter else { throw .nobodyToAsk(principal.description) }
        // Who gave up is not asked again at once: programs try again by themselves.
        if let date = refusedQuestions.date(for: principal, now: self.options.clock()) {
            let message =
                "the question for the password was not answered at \(date.formatted(.iso8601)). Sign in with: ksso login \(principal)"
            throw KerberosError(.canceled, subject: principal.description, message: message)
        }
        return try await questionFlights.run(principal) { [self] () async throws(KerberosError) in
            do throws(KerberosError) {
                let source = try await interactiveSource(realm: principal.realm, prompter: prompter)
                let session = try await signIn(principal.description, using: source, options: options)
                refusedQuestions.forget(principal)
                return session
            } catch {
                // Where the request itself was called off nobody has refused anything.
                if error.code == .canceled, !Task.isCancelled { refusedQuestions.note(principal, at: self.options.clock()) }
                throw error
            }
        }
    }
}

extension KerberosError {
    fileprivate static func nobodyToAsk(_ subject: String) -> KerberosError {
        let message = "a password is needed, and there is nobody to ask. Give it, or a keytab; or sign in with: ksso login"
        return KerberosError(.notInteractive, subject: subject, message: message)
    }
}

/// Whom a person did not want to sign in.
final class RefusedQuestions: Sendable {
    private let dates = Mutex<[Principal: Date]>([:])

    /// In seconds.
    private static let pause = 300.0

    func note(_ principal: Principal, at date: Date) { dates.withLock { $0[principal] = date } }

    func forget(_ principal: Principal) { dates.withLock { $0[principal] = nil } }

    /// When that was; nil where it is long enough ago.
    func date(for principal: Principal, now: Date) -> Date? {
        dates.withLock { dates in
            dates = dates.filter { abs(now.timeIntervalSince($0.value)) < Self.pause }
            return dates[principal]
        }
    }
}
