import Dispatch
import Foundation
import Kerberos
import NIOCore
import NIOHTTP1
import Synchronization

/// One connection of an ``AcceptorServer``, which may carry several requests.
struct AcceptorConnection {
    let records: AcceptorServer.Records
    let options: AcceptorServerOptions
    let number: Int
    let acceptor: TokenAcceptor

    /// Serves requests until the client closes the connection or the server's closure ends.
    func serve(_ channel: HTTPConnection) async throws {
        try await channel.executeThenClose { input, output in
            var vouched: TokenAcceptor.Verdict?
            var parts = input.makeAsyncIterator()
            while case .head(let head)? = try await parts.next() {
                if head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
                    try await output.write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
                }
                var bodyBytes = 0
                while case .body(let bytes)? = try await parts.next() { bodyBytes += bytes.readableBytes }
                let verdict = if let vouched { vouched } else { try await verdict(on: head) }
                if options.isConnectionBound, case .accepted(_, let initiator, let flags)? = verdict {
                    vouched = .accepted(reply: nil, initiator: initiator, flags: flags)
                }
                guard let response = await response(to: head, bodyBytes: bodyBytes, verdict) else { return }
                try await output.write(contentsOf: response)
                guard head.isKeepAlive else { return }
            }
        }
    }

    /// Returns the decision on the token; nil if there is none.
    private func verdict(on head: HTTPRequestHead) async throws -> TokenAcceptor.Verdict? {
        let words = head.headers.first(name: "Authorization")?.split(separator: " ", maxSplits: 1) ?? []
        guard words.count == 2, words[0].lowercased() == "negotiate" else { return nil }
        guard let token = Data(base64Encoded: String(words[1])) else {
            return .refused(KerberosError(.invalidToken, subject: head.uri, message: "the client's token is not base64."))
        }
        return await acceptor.verdict(on: Array(token))
    }

    /// Returns the response; nil if the connection must close without one.
    private func response(
        to head: HTTPRequestHead,
        bodyBytes: Int,
        _ verdict: TokenAcceptor.Verdict?
    ) async -> [HTTPServerResponsePart]? {
        var request = AcceptorServer.Request(
            connection: number,
            method: head.method.rawValue,
            path: head.uri,
            hasAuthorization: head.headers.contains(name: "Authorization"),
            bodyBytes: bodyBytes
        )
        var fields = HTTPHeaders()
        var challenge: String? = "Negotiate"
        switch verdict {
        case nil: break
        case .unfinished(let reply): challenge = "Negotiate \(Data(reply).base64EncodedString())"
        case .refused(let error): request.refusal = error
        case .accepted(let reply, let initiator, let flags):
            request.initiator = initiator
            request.flags = flags
            request.status = 200
            challenge = finalToken(reply).map { "Negotiate \(Data($0).base64EncodedString())" }
            if options.isConnectionBound { fields.add(name: "Persistent-Auth", value: "true") }
        }
        switch await acceptor.perform({ [request, options] in options.answer(request).kind }) {
        case .negotiated: break
        case .challenged: (request.status, challenge, fields) = (401, "Negotiate", [:])
        case .status(let status, let others):
            request.status = status
            if request.initiator == nil { challenge = nil }
            fields.add(contentsOf: others.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        case .disconnected:
            request.status = 0
            records.note(request)
            return nil
        }
        if let challenge { fields.add(name: "WWW-Authenticate", value: challenge) }
        if !head.isKeepAlive { fields.add(name: "Connection", value: "close") }
        records.note(request)
        return parts(of: request, fields: fields)
    }

    private func finalToken(_ reply: [UInt8]?) -> [UInt8]? {
        switch options.finalToken.kind {
        case .sent: reply
        case .dropped: nil
        case .replaced(let bytes): bytes
        }
    }

    private func parts(of request: AcceptorServer.Request, fields: HTTPHeaders) -> [HTTPServerResponsePart] {
        let body = ByteBuffer(string: request.initiator.map { "Hello \($0)\n" } ?? "who are you?\n")
        var fields = fields
        fields.replaceOrAdd(name: "Content-Length", value: "\(body.readableBytes)")
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: request.status), headers: fields)
        return [.head(head)] + (request.method == "HEAD" ? [] : [.body(.byteBuffer(body))]) + [.end(nil)]
    }
}

/// Accepts the tokens of one connection on its own queue, because an acceptor may block while the replay cache is written to disk.
final class TokenAcceptor: Sendable {
    /// The decision on a token.
    enum Verdict: Sendable {
        /// The token was accepted; the reply, if there is one, authenticates the server.
        case accepted(reply: [UInt8]?, initiator: String, flags: ContextFlags)
        /// The client must answer this token first.
        case unfinished(reply: [UInt8])
        case refused(KerberosError)
    }

    private let credential: AcceptorCredential
    private let policy: AcceptorServerOptions.BindingPolicy
    private let queue = DispatchQueue(label: "acceptor server")
    /// A negotiation that waits for the connection's next token.
    private let unfinished = Mutex<SPNEGOAcceptor?>(nil)

    init(credential: AcceptorCredential, policy: AcceptorServerOptions.BindingPolicy) {
        self.credential = credential
        self.policy = policy
    }

    func verdict(on token: [UInt8]) async -> Verdict {
        await perform { self.accept(token) }
    }

    /// Runs a closure that may block on the queue.
    func perform<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }

    private func accept(_ token: [UInt8]) -> Verdict {
        do throws(KerberosError) {
            switch try nextAcceptor().step(token) {
            case .proceed(let reply, let acceptor):
                var next: SPNEGOAcceptor? = consume acceptor
                unfinished.withLock { $0 = next.take() }
                return .unfinished(reply: reply)
            case .established(let reply, let context):
                if policy.requiresBindings, !context.flags.contains(.channelBound) {
                    let message = "the client sent no channel bindings."
                    throw KerberosError(.flagsNotGranted, subject: context.initiator, message: message)
                }
                return .accepted(reply: reply, initiator: context.initiator, flags: context.flags)
            }
        } catch {
            return .refused(error)
        }
    }

    private func nextAcceptor() -> SPNEGOAcceptor {
        if let acceptor = unfinished.withLock({ $0.take() }) { return acceptor }
        return SPNEGOAcceptor(credential: credential, channelBindings: policy.bindings)
    }
}
