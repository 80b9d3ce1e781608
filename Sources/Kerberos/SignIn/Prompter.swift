internal import CKerberos
internal import Synchronization

/// Answers what libkrb5 asks during a sign-in: a password, a one-time code, a card's PIN.
///
/// Called on the realm's own thread, which it may block; never on a thread that Swift's tasks share. The sign-in's deadline stands
/// still meanwhile.
public protocol Prompter: Sendable {
    /// One answer for each prompt, in order.
    ///
    /// - Throws: ``PromptRefusal`` to give up; any other error counts as ``PromptRefusal/canceled``.
    func answers(to request: PromptRequest) throws -> [Secret]

    /// Nobody waits for the answers to this request any more: its `answers(to:)`, which runs on another thread or is about to, should
    /// return soon. The sign-in was canceled, or the program is about to end. Other requests go on.
    func cancel(_ request: PromptRequest)
}

extension Prompter {
    /// Does nothing: what is answered later is dropped.
    public func cancel(_ request: PromptRequest) {}
}

/// One or more questions that belong together (`krb5_prompter_fct`).
public struct PromptRequest: Sendable, Identifiable {
    /// Who signs in.
    public let principal: Principal
    /// Text to show above the prompts, such as a token's instructions.
    public let banner: String?
    /// The questions.
    public let prompts: [Prompt]
    private let cancellation: Cancellation

    private final class Cancellation: Sendable {
        let isRequested = Atomic(false)
    }

    package init(principal: Principal, banner: String? = nil, prompts: [Prompt]) {
        self.principal = principal
        self.banner = banner
        self.prompts = prompts
        cancellation = Cancellation()
    }

    /// The same request with another banner.
    package init(_ request: PromptRequest, banner: String?) {
        principal = request.principal
        self.banner = banner
        prompts = request.prompts
        cancellation = request.cancellation
    }

    /// Tells one request from another while either is there.
    public var id: ObjectIdentifier { ObjectIdentifier(cancellation) }

    /// Whether nobody waits for the answers any more. It is set before ``Prompter/cancel(_:)`` is called.
    public var isCanceled: Bool { cancellation.isRequested.load(ordering: .acquiring) }

    /// Calls the question off.
    package func cancel(at prompter: any Prompter) {
        cancellation.isRequested.store(true, ordering: .releasing)
        prompter.cancel(self)
    }

    /// One question.
    public struct Prompt: Sendable {
        /// What is asked for.
        public let kind: Kind
        /// The library's own text: `Password for alice@EXAMPLE.COM`.
        public let text: String
        /// Whether the answer must not be shown.
        public let isHidden: Bool

        package init(kind: Kind, text: String, isHidden: Bool = true) {
            self.kind = kind
            self.text = text
            self.isHidden = isHidden
        }
    }

    /// What a question asks for: `krb5_get_prompt_types`.
    public enum Kind: Sendable {
        /// The account's password: `KRB5_PROMPT_TYPE_PASSWORD`.
        case password
        /// A new password: `KRB5_PROMPT_TYPE_NEW_PASSWORD`.
        case newPassword
        /// The new password again: `KRB5_PROMPT_TYPE_NEW_PASSWORD_AGAIN`.
        case newPasswordAgain
        /// A code or a PIN: `KRB5_PROMPT_TYPE_PREAUTH`.
        case preauthentication
        /// Something else; the text says what.
        case other
    }
}

/// Why a prompter gives no answer.
public enum PromptRefusal: Error, Sendable {
    /// The person gave up: Ctrl-C, end of input.
    case canceled
    /// There is nobody to ask: no terminal.
    case notInteractive
}

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

/// Answers one question with what was given beforehand, and no other: the second one says that the answer was wrong.
package final class GivenAnswer: Prompter {
    private let answer: Mutex<Secret?>

    /// - Parameter answer: Nil answers nothing.
    package init(_ answer: Secret?) { self.answer = Mutex(answer) }

    /// The answer, once. Throws `PromptRefusal`.
    package func answers(to request: PromptRequest) throws -> [Secret] {
        guard request.prompts.count == 1, let answer = answer.withLock({ $0.take() }) else { throw PromptRefusal.notInteractive }
        return [answer]
    }
}
