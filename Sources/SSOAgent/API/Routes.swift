internal import HTTPNegotiate
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Kerberos
internal import NIOCore
internal import SSOAgentClient
internal import Synchronization

internal import struct Foundation.Data

extension AgentAPI {
    /// The largest body that is read: a token of the server, or a large profile's options.
    static let bodyLimit = 256 * 1024

    /// All operations, each with whom it is for.
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

    /// The operations' router.
    func routes() -> Router<AgentContext> {
        let router = Router(context: AgentContext.self)
        for operation in Self.operations(of: self) {
            router.on(RouterPath(operation.path), method: operation.method) { request, context in
                // The router has answers of its own to some errors, which are no problems.
                do {
                    return try await self.carryOut(operation, request, context)
                } catch {
                    return Self.response(AgentProblem(error))
                }
            }
        }
        return router
    }

    /// The rules are those of the moment when the request is there to its end: who holds it back does not keep those that it began under.
    private func carryOut(_ operation: AgentOperation, _ request: Request, _ context: AgentContext) async throws -> Response {
        // Nobody's body is read who is refused anyway.
        try context.served.check(context.peer, for: operation.audience)
        var context = context
        // A GET has none, although nginx may announce the one of the request that it asks about.
        if operation.method != .get { context.body.put(try await request.body.collect(upTo: Self.bodyLimit)) }
        context.served = served
        try context.served.check(context.peer, for: operation.audience)
        return try await operation.run(request, context)
    }

    /// Answers a request; every failure becomes a problem (RFC 9457).
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

    /// A page of a browser that reaches the socket through a proxy is no caller: it says where it is from.
    private func check(_ request: Request) throws {
        guard request.headers[.origin] == nil else { throw AgentProblem.forbidden("requests from web pages are not answered.") }
    }

    /// The body's one document.
    func document<Value: Decodable>(_ type: Value.Type, of context: AgentContext) throws -> Value {
        do {
            return try AgentJSON.decode(type, from: Data(context.body.take().readableBytesView))
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
        var response = response(data, status: HTTPResponse.Status(code: problem.status), type: "application/problem+json")
        if response.status == .tooManyRequests { response.headers[.retryAfter] = "1" }
        return response
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

/// One operation of the API: its method, its path as `openapi.yaml` has it, whom it is for, and what carries it out.
struct AgentOperation {
    /// Whose requests are heard.
    enum Audience: String {
        /// The agent's own user's alone.
        case owner
        /// Also those of whom `AllowedPeers` names; what such a one may have is decided by the operation.
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
