internal import CKerberos

/// Stands between libkrb5's prompter callback and a ``Prompter``: one of it for one sign-in.
final class PrompterBridge {
    private let principal: Principal
    private let prompter: (any Prompter)?
    private let deadline: CallDeadline
    /// Whether it is for a certificate's PIN alone, so that a password would be sent in the place of what was to be sent.
    private let isForCertificate: Bool
    private var hasAnswered = false
    /// Why a question got no answer. libkrb5 itself may say no more than that pre-authentication failed.
    private(set) var refusal: KerberosError.Code?

    init(principal: Principal, prompter: (any Prompter)?, isForCertificate: Bool = false, deadline: CallDeadline) {
        self.isForCertificate = isForCertificate
        self.principal = principal
        self.prompter = prompter
        self.deadline = deadline
    }

    /// The function for `krb5_init_creds_init`; its data is an unretained bridge.
    static let callback: krb5_prompter_fct = { context, data, _, banner, count, prompts in
        guard let data, let prompts, count > 0 else { return krb5_error_code(truncatingIfNeeded: KRB5_LIBOS_CANTREADPWD) }
        let bridge = Unmanaged<PrompterBridge>.fromOpaque(data).takeUnretainedValue()
        let types = krb5_get_prompt_types(context)
        let list = UnsafeMutableBufferPointer(start: prompts, count: Int(count))
        return bridge.answer(list, types: types, banner: banner.map { String(cString: $0) })
    }

    private func answer(
        _ prompts: UnsafeMutableBufferPointer<krb5_prompt>,
        types: UnsafeMutablePointer<krb5_prompt_type>?,
        banner: String?
    ) -> krb5_error_code {
        guard let prompter else { return refuse(.notInteractive) }
        // libkrb5 goes on to the password when a certificate, a card or a PIN is wrong.
        if isForCertificate, prompts.indices.contains(where: { PromptRequest.Kind(types?[$0]) == .password }) {
            // What came first is the cause: a PIN that nobody gave, say.
            return refuse(refusal ?? .certificateRefused)
        }
        let request = PromptRequest(
            principal: principal,
            banner: banner,
            prompts: prompts.indices.map { index in
                PromptRequest.Prompt(
                    kind: PromptRequest.Kind(types?[index]),
                    text: String(cString: prompts[index].prompt),
                    isHidden: prompts[index].hidden != 0
                )
            }
        )
        guard deadline.pause(for: prompter, asked: request) else { return refuse(.canceled) }
        do {
            let outcome = Result { try prompter.answers(to: request) }
            // An answer that comes when nobody waits any more is not sent.
            guard deadline.resume() else { return refuse(.canceled) }
            let answers = try outcome.get()
            guard answers.count == prompts.count else { return refuse(.notInteractive) }
            for (index, answer) in answers.enumerated() {
                guard copy(answer, to: prompts[index].reply) else { return refuse(.notInteractive) }
            }
            hasAnswered = true
            return 0
        } catch PromptRefusal.notInteractive {
            // Who had the one PIN has given it.
            return refuse(isForCertificate && hasAnswered ? .certificateRefused : .notInteractive)
        } catch {
            return refuse(.canceled)
        }
    }

    private func refuse(_ code: KerberosError.Code) -> krb5_error_code {
        refusal = code
        return krb5_error_code(truncatingIfNeeded: code == .canceled ? KRB5_LIBOS_PWDINTR : KRB5_LIBOS_CANTREADPWD)
    }

    /// libkrb5 gives a buffer and its size; an answer that does not fit must not be cut.
    private func copy(_ answer: Secret, to reply: UnsafeMutablePointer<krb5_data>) -> Bool {
        guard answer.count < Int(reply.pointee.length), let target = reply.pointee.data else { return false }
        answer.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: target, count: Int(reply.pointee.length)).copyMemory(from: bytes)
        }
        target[answer.count] = 0
        reply.pointee.length = UInt32(answer.count)
        return true
    }
}

extension PromptRequest.Kind {
    fileprivate init(_ type: krb5_prompt_type?) {
        switch type {
        case KRB5_PROMPT_TYPE_PASSWORD: self = .password
        case KRB5_PROMPT_TYPE_NEW_PASSWORD: self = .newPassword
        case KRB5_PROMPT_TYPE_NEW_PASSWORD_AGAIN: self = .newPasswordAgain
        case KRB5_PROMPT_TYPE_PREAUTH: self = .preauthentication
        default: self = .other
        }
    }
}
