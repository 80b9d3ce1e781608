internal import CKerberos
internal import Synchronization

/// Answers libkrb5's prompts during a sign-in: for a password, a one-time code, or a smart card's PIN.
///
/// Called on the realm's thread, which it may block; never on Swift's shared task threads. The sign-in's deadline is paused meanwhile.
public protocol Prompter: Sendable {
    /// Returns one answer for each prompt, in order.
    ///
    /// - Throws: ``PromptRefusal`` to give no answer; any other error counts as ``PromptRefusal/canceled``.
    func answers(to request: PromptRequest) throws -> [Secret]

    /// Cancels a request, because its sign-in was canceled or the program is about to exit. Its `answers(to:)`, which runs on another
    /// thread or is about to, should return soon. Other requests continue.
    func cancel(_ request: PromptRequest)
}

extension Prompter {
    /// Does nothing: a later answer is dropped.
    public func cancel(_ request: PromptRequest) {}
}

/// One or more prompts that belong together (`krb5_prompter_fct`).
public struct PromptRequest: Sendable, Identifiable {
    /// The principal that signs in.
    public let principal: Principal
    /// The text to show above the prompts, such as a token's instructions.
    public let banner: String?
    /// The prompts.
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

    /// Copies a request with another banner.
    package init(_ request: PromptRequest, banner: String?) {
        principal = request.principal
        self.banner = banner
        prompts = request.prompts
        cancellation = request.cancellation
    }

    /// Copies a request with other prompts.
    package init(_ request: PromptRequest, prompts: [Prompt]) {
        principal = request.principal
        banner = request.banner
        self.prompts = prompts
        cancellation = request.cancellation
    }

    /// Identifies the request and its copies while one of them exists.
    public var id: ObjectIdentifier { ObjectIdentifier(cancellation) }

    /// Whether the request was canceled. It is set before ``Prompter/cancel(_:)`` is called.
    public var isCanceled: Bool { cancellation.isRequested.load(ordering: .acquiring) }

    /// Cancels the request.
    package func cancel(at prompter: any Prompter) {
        cancellation.isRequested.store(true, ordering: .releasing)
        prompter.cancel(self)
    }

    /// One prompt.
    public struct Prompt: Sendable {
        /// What the prompt asks for.
        public let kind: Kind
        /// libkrb5's text: `Password for alice@EXAMPLE.COM`.
        public let text: String
        /// Whether the answer must not be displayed.
        public let isHidden: Bool

        package init(kind: Kind, text: String, isHidden: Bool = true) {
            self.kind = kind
            self.text = text
            self.isHidden = isHidden
        }
    }

    /// What a prompt asks for: `krb5_get_prompt_types`.
    public enum Kind: Sendable {
        /// The account's password: `KRB5_PROMPT_TYPE_PASSWORD`.
        case password
        /// A new password: `KRB5_PROMPT_TYPE_NEW_PASSWORD`.
        case newPassword
        /// The new password again: `KRB5_PROMPT_TYPE_NEW_PASSWORD_AGAIN`.
        case newPasswordAgain
        /// A code or a PIN: `KRB5_PROMPT_TYPE_PREAUTH`.
        case preauthentication
        /// Something else, described by the text.
        case other
    }
}

/// Why a prompter gives no answer.
public enum PromptRefusal: Error, Sendable {
    /// The user canceled: Ctrl-C, or end of input.
    case canceled
    /// No user can be asked: there is no terminal.
    case notInteractive
}

/// Connects libkrb5's prompter callback to a ``Prompter``, for one sign-in.
final class PrompterBridge {
    private let principal: Principal
    private let prompter: (any Prompter)?
    private let deadline: CallDeadline
    /// Whether to allow only a certificate's PIN, so that no password is requested instead.
    private let isForCertificate: Bool
    /// Whether a prompt was answered.
    private(set) var hasAnswered = false
    /// Why a prompt got no answer. libkrb5 itself may report only that pre-authentication failed.
    private(set) var refusal: KerberosError.Code?
    /// Why an answer was not sent; nil if the sentence for ``refusal`` says it.
    private(set) var refusalMessage: String?

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
        // libkrb5 falls back to the password if a certificate, a card or a PIN is wrong.
        if isForCertificate, prompts.indices.contains(where: { PromptRequest.Kind(types?[$0]) == .password }) {
            // The first refusal is the cause, such as a PIN that was not given.
            return refuse(refusal ?? .certificateRefused)
        }
        let texts = prompts.map { CardPrompt.text(String(cString: $0.prompt)) }
        if isForCertificate, texts.contains(where: CardPrompt.isLocked) {
            refusalMessage = "the card has locked its PIN after too many wrong attempts. Unblock it with the PUK, or ask the card's issuer."
            return refuse(.certificateRefused)
        }
        let request = PromptRequest(
            principal: principal,
            banner: banner,
            prompts: prompts.indices.map { index in
                PromptRequest.Prompt(
                    kind: PromptRequest.Kind(types?[index]),
                    text: texts[index].replacing(principal.description, with: principal.displayName),
                    isHidden: prompts[index].hidden != 0
                )
            }
        )
        guard deadline.pause(for: prompter, asked: request) else { return refuse(.canceled) }
        do {
            let outcome = Result { try prompter.answers(to: request) }
            // A late answer, after the caller has stopped waiting, is not sent.
            guard deadline.resume() else { return refuse(.canceled) }
            let answers = try outcome.get()
            guard answers.count == prompts.count else { return refuse(.notInteractive) }
            for (index, answer) in answers.enumerated() {
                guard copy(answer, to: prompts[index].reply) else {
                    refusalMessage =
                        "the answer is longer than libkrb5's limit of \(prompts[index].reply.pointee.length - 1) bytes; it was not sent."
                    return refuse(.wrongPassword)
                }
            }
            hasAnswered = true
            return 0
        } catch PromptRefusal.notInteractive {
            // A second prompt after an answered one means that the PIN was wrong.
            return refuse(isForCertificate && hasAnswered ? .certificateRefused : .notInteractive)
        } catch {
            return refuse(.canceled)
        }
    }

    private func refuse(_ code: KerberosError.Code) -> krb5_error_code {
        refusal = code
        return krb5_error_code(truncatingIfNeeded: code == .canceled ? KRB5_LIBOS_PWDINTR : KRB5_LIBOS_CANTREADPWD)
    }

    /// Copies an answer to libkrb5's fixed-size buffer; false if it does not fit, because it must not be truncated.
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

/// The texts that libkrb5's PKINIT plugin makes for the PIN of a card, such as `card PIN (Warning: PIN count low)`.
enum CardPrompt {
    /// The prompt without the spaces that fill the card's label up to 32 characters.
    static func text(_ prompt: String) -> String { prompt.replacing(/[ ]{2,}/, with: " ") }

    /// Whether the card takes no PIN any more, so that none is asked for.
    static func isLocked(_ prompt: String) -> Bool { prompt.hasSuffix("(Warning: PIN locked)") }
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

/// Answers one prompt with a fixed answer and refuses the next, which means that the answer was wrong.
package final class FixedAnswer: Prompter {
    private let answer: Mutex<Secret?>

    /// - Parameter answer: The answer; nil refuses every prompt.
    package init(_ answer: Secret?) { self.answer = Mutex(answer) }

    /// Returns the answer once, then throws `PromptRefusal`.
    package func answers(to request: PromptRequest) throws -> [Secret] {
        guard request.prompts.count == 1, let answer = answer.withLock({ $0.take() }) else { throw PromptRefusal.notInteractive }
        return [answer]
    }
}
