internal import CKerberos
internal import Synchronization
public import SystemSupport

extension KerberosClient {
    /// Changes a principal's own password (RFC 3244): requests a ticket for the password service with the current password, then sends the
    /// new one to that service. Also works for an expired password. No cache is changed.
    ///
    /// - Parameters:
    ///   - principal: The principal.
    ///   - current: The current password. It is sent once.
    ///   - new: The new password.
    ///   - deadline: How long to wait for each of the two replies; nil is 10 seconds with one known KDC, else 25.
    /// - Throws: ``KerberosError``; `passwordRefused` with the server's text if it rejects the new password, and the errors of
    ///   ``initialCredential(for:using:options:)``, including `wrongPassword`.
    public func changePassword(
        of principal: Principal,
        from current: Secret,
        to new: Secret,
        deadline: Duration? = nil
    ) async throws(KerberosError) {
        let credential = try await passwordChangeCredential(for: principal, using: .password(current), deadline: deadline)
        try await changePassword(with: credential, to: new, deadline: deadline)
    }

    /// Requests a ticket for the password service, `kadmin/changepw`, which the KDC also issues for an expired password.
    ///
    /// - Throws: ``KerberosError``, as ``initialCredential(for:using:options:)`` does.
    public func passwordChangeCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        deadline: Duration? = nil
    ) async throws(KerberosError) -> Credential {
        try await performWithArmor(subject: principal.description, deadline: deadline) { context, armor, deadline throws(KerberosError) in
            try context.initialCredential(
                for: principal,
                using: source,
                service: "kadmin/changepw",
                options: InitialCredentialOptions(lifetime: .seconds(300), renewableLifetime: .zero, isForwardable: false),
                armor: armor,
                deadline: deadline
            )
        }
    }

    /// Sets a new password with a ticket from ``passwordChangeCredential(for:using:deadline:)`` (`krb5_change_password`). After a refusal,
    /// the ticket can be used again.
    ///
    /// - Throws: ``KerberosError``; `passwordRefused` with the server's text; `kdcUnreachable`, whose message says whether the password may
    ///   have been changed anyway.
    public func changePassword(with credential: Credential, to new: Secret, deadline: Duration? = nil) async throws(KerberosError) {
        let subject = credential.client.description
        guard !new.withUnsafeBytes({ $0.contains(0) }) else {
            throw KerberosError(.passwordRefused, subject: subject, message: "a password cannot contain a NUL byte. Choose another one.")
        }
        let progress = ChangeProgress()
        do throws(KerberosError) {
            // Uses the route of the ticket request only, because a repeated request may change the password twice.
            try await performByOneRoute(subject: subject, deadline: deadline) { context, _ throws(KerberosError) in
                progress.hasBegun.store(true, ordering: .releasing)
                try context.changePassword(with: credential, to: new)
            }
        } catch
            where error.libraryCode == 0 && [.kdcUnreachable, .canceled].contains(error.code)
            && progress.hasBegun.load(ordering: .acquiring)
        {
            // The caller has stopped waiting, and the reply may still come.
            let message = "the password server did not answer in time, and may have changed the password. Try the new one first."
            throw KerberosError(error.code, subject: subject, message: message)
        }
    }

    /// Asks a prompter on this client's thread; the deadline is paused until it answers.
    ///
    /// - Throws: ``KerberosError``; `notInteractive` and `canceled`.
    package func answers(to request: PromptRequest, from prompter: any Prompter) async throws(KerberosError) -> [Secret] {
        let subject = request.principal.description
        return try await performByOneRoute(subject: subject, deadline: nil) { _, deadline throws(KerberosError) in
            let canceled = KerberosError(.canceled, subject: subject, message: "canceled.")
            guard deadline.pause(for: prompter, asked: request) else { throw canceled }
            let outcome = Result { try prompter.answers(to: request) }
            guard deadline.resume() else { throw canceled }
            do {
                let answers = try outcome.get()
                if answers.count == request.prompts.count { return answers }
            } catch PromptRefusal.notInteractive {
                // Reported below.
            } catch {
                throw canceled
            }
            throw KerberosError(.notInteractive, subject: subject, message: "a new password is required, and no prompt is available.")
        }
    }
}

/// Whether the request may have been sent.
private final class ChangeProgress: Sendable {
    let hasBegun = Atomic(false)
}

extension Context {
    fileprivate func changePassword(with credential: Credential, to new: Secret) throws(KerberosError) {
        let raw = raw
        let subject = credential.client.description
        var result: Int32 = 0
        var kind = krb5_data()
        var words = krb5_data()
        defer {
            krb5_free_data_contents(raw, &kind)
            krb5_free_data_contents(raw, &words)
        }
        let status = try credential.withRaw(in: self) { ticket in
            new.withCString { krb5_change_password(raw, ticket, $0, &result, &kind, &words) }
        }
        try check(status, .changePassword, subject: subject)
        guard result != KRB5_KPASSWD_SUCCESS else { return }
        let text = [result == KRB5_KPASSWD_SOFTERROR ? "" : kind.text, passwordServerText(Array(words.buffer))].filter { !$0.isEmpty }
        let sentence = text.joined(separator: ": ").onOneLine
        throw KerberosError(
            .passwordRefused,
            subject: subject,
            message: "the KDC refused the new password: \(sentence.isEmpty ? "it gave no reason" : sentence)".asSentence,
            libraryCode: result,
            libraryMessage: kind.text.onOneLine
        )
    }

    /// The password server's text. Active Directory sends numbers, which the library turns into text (`krb5_chpw_message`).
    ///
    /// The library ignores text with a NUL byte and returns general advice instead. Heimdal's kpasswdd sends a NUL at the end.
    func passwordServerText(_ words: [UInt8]) -> String {
        var words = words
        while words.last == 0 { words.removeLast() }
        var text: UnsafeMutablePointer<CChar>?
        let status = words.withUnsafeMutableBytes { bytes in
            var data = krb5_data()
            (data.length, data.data) = (UInt32(bytes.count), bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
            return krb5_chpw_message(raw, &data, &text)
        }
        guard status == 0, let text else { return "" }
        defer { krb5_free_string(raw, text) }
        return String(cString: text)
    }
}

extension krb5_data {
    fileprivate var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: data, count: Int(length)) }

    fileprivate var text: String { String(text: buffer) }
}

extension String {
    fileprivate var onOneLine: String { split(whereSeparator: \.isWhitespace).joined(separator: " ").escapedForDisplay() }

    fileprivate var asSentence: String { last.map { ".!?".contains($0) } == true ? self : "\(self)." }
}
