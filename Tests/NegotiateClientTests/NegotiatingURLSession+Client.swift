import Foundation
import FoundationNetworking
import NegotiateURLSession
import SignOnPolicy
import Testing

extension NegotiatingURLSession: Client {
    func send(_ request: ClientRequest) async throws -> Reply {
        let answer = try await negotiate(URLRequest(request))
        return Reply(
            status: answer.response.statusCode,
            url: answer.response.url?.absoluteString,
            fields: answer.response.allHeaderFields.map { ("\($0.key)", "\($0.value)") },
            body: String(decoding: answer.data, as: UTF8.self),
            report: answer.report
        )
    }

    func shutDown() { invalidateAndCancel() }
}

extension URLRequest {
    fileprivate init(_ request: ClientRequest) throws {
        self.init(url: try #require(URL(string: request.url)))
        httpMethod = request.method
        for (name, value) in request.fields { setValue(value, forHTTPHeaderField: name) }
        switch request.body {
        case nil: break
        case .text(let text): httpBody = Data(text.utf8)
        case .stream(let pieces): httpBodyStream = InputStream(data: Data(pieces.joined().utf8))
        case .brokenStream: httpBodyStream = InputStream(fileAtPath: "/nonexistent/file")
        }
    }
}
