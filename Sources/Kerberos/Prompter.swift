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
