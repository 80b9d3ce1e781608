internal import HTTPNegotiate
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Kerberos
internal import NIOCore
internal import SSOAgentClient

internal import struct Foundation.Data

extension AgentAPI {
    /// The largest body that is read: a token of the server, or a large profile's options.
    private static let bodyLimit = 256 * 1024

    /// All operations.
    func routes() -> Router<AgentContext> {
        let router = Router(context: AgentContext.self)
        router.post(RouterPath(AgentPath.authorize), use: authorize)
        router.post("\(AgentPath.authorize)/:exchange", use: continueExchange)
        router.delete("\(AgentPath.authorize)/:exchange", use: endExchange)
        router.post(RouterPath(AgentPath.identity), use: identity)
        router.get(RouterPath(AgentPath.status), use: status)
        router.get(RouterPath(AgentPath.configuration), use: configuration)
        return router
    }

    /// Answers a request; every failure becomes a problem (RFC 9457).
    func response(to request: Request, context: AgentContext, responder: RouterResponder<AgentContext>) async -> Response {
        var response: Response
        do {
            try check(request)
            response = try await responder.respond(to: request, context: context)
        } catch {
            response = AgentAPI.response(AgentProblem(error))
        }
        response.headers[.configurationVersion] = served.version
        return response
    }

    /// A page of a browser that reaches the socket through a proxy is no caller: it says where it is from.
    private func check(_ request: Request) throws {
        guard request.headers[.origin] == nil else { throw AgentProblem.forbidden("requests from web pages are not answered.") }
    }

    /// The body's one document.
    func document<Value: Decodable>(_ type: Value.Type, of request: Request) async throws -> Value {
        let body = try await request.body.collect(upTo: Self.bodyLimit)
        do {
            return try AgentJSON.decode(type, from: Data(body.readableBytesView))
        } catch {
            throw AgentProblem.malformed(error)
        }
    }

    /// A response with one document.
    static func response(_ document: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        response(try AgentJSON.encode(document), status: status, type: "application/json")
    }

    /// A response that tells a failure.
    static func response(_ problem: AgentProblem) -> Response {
        // The type is plain text and numbers: it can always be written.
        let data = (try? AgentJSON.encode(problem)) ?? Data()
        return response(data, status: HTTPResponse.Status(code: problem.status), type: "application/problem+json")
    }

    private static func response(_ data: Data, status: HTTPResponse.Status, type: String) -> Response {
        // Tokens are of use once, and documents change: nothing is kept by whoever stands between.
        let headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}

extension HTTPField.Name {
    /// Which configurations are in force.
    static let configurationVersion = known(AgentHeader.configurationVersion)
    /// Why an auth-request gives no ticket.
    static let reason = known(AgentHeader.reason)
    /// The URL that an auth-request is about.
    static let originalURL = known(AgentHeader.originalURL)

    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no field name") }
        return name
    }
}
