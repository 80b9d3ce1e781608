import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import TestSupport

/// A client that uses AsyncHTTPClient.
struct AsyncClient: Client {
    private let client: NegotiatingHTTPClient
    private let given: HTTPClient?
    private let timeout: Duration

    init(_ client: NegotiatingHTTPClient, _ timeout: Duration, given: HTTPClient? = nil) {
        (self.client, self.timeout, self.given) = (client, timeout, given)
    }

    func send(_ request: ClientRequest) async throws -> Reply {
        let answer = try await client.negotiate(HTTPClientRequest(request), timeout: timeout)
        let body = try await answer.response.body.collect(upTo: 1 << 22)
        return Reply(
            status: Int(answer.response.status.code),
            url: answer.response.url?.absoluteString,
            fields: answer.response.headers.map { ($0.name, $0.value) },
            body: String(buffer: body),
            report: answer.report
        )
    }

    func shutDown() async throws {
        try await client.shutdown()
        try await given?.shutdown()
    }
}

extension HTTPClientRequest {
    fileprivate init(_ request: ClientRequest) {
        self.init(url: request.url)
        method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.fields { headers.add(name: name, value: value) }
        switch request.body {
        case nil: break
        case .text(let text): body = .bytes(ByteBuffer(string: text))
        case .stream(let pieces): body = .stream(OnceOnly(pieces), length: .unknown)
        case .brokenStream:
            struct Broken: Error {}
            body = .stream(AsyncThrowingStream<ByteBuffer, any Error> { $0.finish(throwing: Broken()) }, length: .unknown)
        }
    }
}
