internal import Kerberos

/// What a person is asked for, so that somebody signs in.
struct Question: Hashable {
    let principal: Principal
    let answer: Answer

    enum Answer: Hashable {
        /// The password, or whatever else the KDC wants.
        case password
        /// The PIN of a certificate; nil is the configured one. It may want none.
        case pin(certificate: String?)
    }

    /// The same question for a source, whoever answers.
    init(of principal: Principal, _ source: InitialCredentialSource) {
        self.principal = principal
        answer = if case .certificate(let identity, _) = source { .pin(certificate: identity) } else { .password }
    }

    /// With what to sign in, where this one answers.
    func source(_ prompter: any Prompter) -> InitialCredentialSource {
        switch answer {
        case .password: .prompter(prompter)
        case .pin(let certificate): .certificate(certificate, prompter)
        }
    }

    /// What a person can do that programs do not ask for.
    var command: String {
        guard case .pin(let certificate) = answer else { return "ksso login \(principal)" }
        return "ksso login \(principal) --certificate \(certificate ?? "default")"
    }
}
