internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Kerberos
internal import NIOCore
internal import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization

internal import struct Foundation.Data

extension AgentAPI {
    /// The maximum size of a request body; a server's token or a profile's options can be large.
    static let bodyLimit = 256 * 1024

    /// All operations with their audiences.
    static func operations(of api: AgentAPI) -> [AgentOperation] {
        let exchange = AgentPath.authorize("{exchange}")
        return [
            AgentOperation(.post, AgentPath.authorize, for: .peers, api.authorize),
            AgentOperation(.post, exchange, for: .peers, api.continueExchange),
            AgentOperation(.delete, exchange, for: .peers, api.endExchange),
            AgentOperation(.post, AgentPath.refusal("{exchange}"), for: .peers, api.replaceRefusedTicket),
            AgentOperation(.post, AgentPath.identity, for: .owner, api.identity),
            AgentOperation(.post, AgentPath.login, for: .owner, api.login),
            AgentOperation(.post, AgentPath.refresh, for: .owner, api.refresh),
            AgentOperation(.post, AgentPath.logout, for: .owner, api.logout),
            AgentOperation(.post, AgentPath.password, for: .owner, api.changePassword),
            AgentOperation(.get, AgentPath.status, for: .owner, api.status),
            AgentOperation(.get, AgentPath.explain, for: .owner, api.explain),
            AgentOperation(.get, AgentPath.events, for: .owner, api.events),
            AgentOperation(.get, AgentPath.configuration, for: .peers, api.configuration),
            AgentOperation(.post, AgentPath.stop, for: .owner, api.stop),
            AgentOperation(.get, AgentPath.authRequest, for: .peers, api.authRequest),
        ]
    }

    /// Creates the router for the operations.
    func routes() -> Router<AgentContext> {
        let router = Router(context: AgentContext.self)
        for operation in Self.operations(of: self) {
            router.on(RouterPath(operation.path), method: operation.method) { request, context in
                // The router converts some errors to responses of its own, which are not problem documents.
                do {
                    return try await self.carryOut(operation, request, context)
                } catch {
                    return Self.response(AgentProblem(error))
                }
            }
        }
        return router
    }

    /// Runs an operation under the rules that apply when the request is complete. A caller cannot keep older rules by delaying the body.
    private func carryOut(_ operation: AgentOperation, _ request: Request, _ context: AgentContext) async throws -> Response {
        // The body is not read if the caller has no permission.
        try context.served.check(context.peer, for: operation.audience)
        var context = context
        // The body of a GET is not read, although nginx may announce the one of its original request.
        if operation.method != .get { context.body.put(try await request.body.collect(upTo: Self.bodyLimit)) }
        context.served = served
        try context.served.check(context.peer, for: operation.audience)
        return try await operation.run(request, context)
    }

    /// Responds to a request; every failure becomes a problem document (RFC 9457).
    func response(to request: Request, context: AgentContext, responder: RouterResponder<AgentContext>) async -> Response {
        requests.add(1, ordering: .relaxed)
        defer { requests.subtract(1, ordering: .relaxed) }
        var response: Response
        do {
            try check(request)
            response = try await responder.respond(to: request, context: context)
            if response.status == .notFound, response.headers[.contentType] == nil { throw HTTPError(.notFound) }
        } catch {
            response = AgentAPI.response(AgentProblem(error))
        }
        response.headers[.configurationVersion] = served.version
        return response
    }

    /// Rejects a request with an `Origin` field, which comes from a web page that reaches the socket through a proxy.
    private func check(_ request: Request) throws {
        guard request.headers[.origin] == nil else { throw AgentProblem.forbidden("requests from web pages are rejected.") }
    }

    /// Decodes the body as one JSON document.
    func document<Value: Decodable>(_ type: Value.Type, of context: AgentContext) throws -> Value {
        do {
            return try AgentJSON.decode(type, from: Data(context.body.take().readableBytesView))
        } catch {
            throw AgentProblem.malformed(error)
        }
    }

    /// Creates a response with one JSON document.
    static func response(_ document: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        response(try AgentJSON.encode(document), status: status, type: "application/json")
    }

    /// Creates a response with a problem document.
    static func response(_ problem: AgentProblem) -> Response {
        // The problem consists of text and numbers, so that encoding it cannot fail.
        let data = (try? AgentJSON.encode(problem)) ?? Data()
        var response = response(data, status: HTTPResponse.Status(code: problem.status), type: "application/problem+json")
        if response.status == .tooManyRequests { response.headers[.retryAfter] = "1" }
        return response
    }

    private static func response(_ data: Data, status: HTTPResponse.Status, type: String) -> Response {
        // Tokens can be used only once and documents change, so that no intermediary may store a response.
        let headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}

extension HTTPField.Name {
    /// The version of the active configurations.
    static let configurationVersion = known(AgentHeader.configurationVersion)
    /// The reason why an auth-request gets no token.
    static let reason = known(AgentHeader.reason)
    /// The URL that an auth-request is about.
    static let originalURL = known(AgentHeader.originalURL)

    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no field name") }
        return name
    }
}

/// An operation of the API: its method, its path in `openapi.yaml`, its audience and its handler.
struct AgentOperation {
    /// The callers that may use an operation.
    enum Audience: String {
        /// Only the agent's own user.
        case owner
        /// Also the users that `AllowedPeers` lists; the operation decides what they get.
        case peers
    }

    let method: HTTPRequest.Method
    let path: String
    let audience: Audience
    let run: @Sendable (Request, AgentContext) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        for audience: Audience,
        _ run: @escaping @Sendable (Request, AgentContext) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.audience = audience
        self.run = run
    }
}
