import AsyncHTTPClient
import HTTPNegotiate
import HTTPTypes
import NIOCore
import NIOHTTP1

import struct Foundation.URL

/// One call of ``NegotiatingHTTPClient``: hop after hop, each with its own decision, exchange and security context.
struct Call: Sendable {
    let credentialExtension: any CredentialExtension
    let configuration: NegotiatingHTTPClient.Configuration
    let clients: ClientStore

    func run(_ first: HTTPClientRequest, body firstBody: RequestBody) async throws -> NegotiatedResponse {
        // The user decided about credentials, for the redirects too, where the field may have been taken away.
        let negotiates = !first.headers.contains(name: "Authorization")
        var request = first
        request.body = nil
        var body = firstBody
        var history: [HTTPClientRequestResponse] = []
        var redirects = 0
        while true {
            let origin = try Origin(url: request.url)
            let result = try await hop(request, body: &body, origin: origin, negotiates: negotiates)
            let response = result.response
            let head = HTTPResponseHead(version: response.version, status: response.status, headers: response.headers)
            history.append(HTTPClientRequestResponse(request: request, responseHead: head))

            guard configuration.maximumRedirects > 0,
                let redirect = try Redirect(from: request, origin: origin, response: response),
                !redirect.keepsBody || body.isReplayable
            else {
                return result.with(history: history)
            }
            guard redirects < configuration.maximumRedirects else {
                let message = "\(origin) redirects again after \(redirects) redirects. It may be a loop; raise maximumRedirects if not."
                throw HTTPTransportError(.tooManyRedirects, message)
            }
            redirects += 1
            await response.body.drain()
            request = redirect.request
            if !redirect.keepsBody { body = .none }
        }
    }

    /// One request to one origin, with a challenge answered.
    private func hop(
        _ request: HTTPClientRequest,
        body: inout RequestBody,
        origin: Origin,
        negotiates: Bool
    ) async throws -> NegotiatedResponse {
        guard negotiates else {
            let client = try clients.singleUseClient()
            let response = try await send(request, body: body, with: client, origin: origin)
            return NegotiatedResponse(response: response, delivery: .unauthenticated)
        }
        guard let url = URL(string: request.url) else {
            throw AuthorizationError(.invalidURL, "The URL of the request can't be read. Percent-encode it.")
        }
        if credentialExtension.decision(for: url).plan != nil {
            body = try await body.replayable(upTo: configuration.maximumReplayableBody, for: origin)
        }
        let response = try await send(request, body: body, with: clients.anonymousClient(), origin: origin)
        var exchange = NegotiateExchange(
            maximumLegs: configuration.maximumLegs,
            mutualAuthentication: configuration.mutualAuthentication
        )
        switch exchange.receive(response) {
        case .begin:
            guard let grant = try await grant(for: request, url: url) else { return try exchange.declined().delivering(response) }
            guard body.isReplayable else {
                let message = "\(origin) asks for a ticket, and the body can't be sent again. Give a closure that makes the body."
                throw AuthorizationError(.bodyNotReplayable, message)
            }
            await response.body.drain()
            return try await authenticate(request, body: body, origin: origin, grant: grant, exchange: exchange)
        case let action: return try action.delivering(response)
        }
    }

    /// The legs with our token; all over one connection.
    private func authenticate(
        _ request: HTTPClientRequest,
        body: RequestBody,
        origin: Origin,
        grant: AuthorizationGrant,
        exchange: NegotiateExchange
    ) async throws -> NegotiatedResponse {
        var exchange = exchange
        var authorized = request
        authorized.headers.replace(with: grant.headers)
        let identity = ClientIdentity(origin: origin, principal: grant.principal, servicePrincipal: grant.servicePrincipal)
        let lease = try clients.lease(for: identity)
        while true {
            let response = try await send(authorized, body: body, with: lease.client, origin: origin)
            exchange.sent()
            var action = exchange.receive(response)
            if case .respond(let token) = action {
                switch try await next(grant.exchange, token) {
                case .send(let fields):
                    authorized.headers.replace(with: fields)
                    await response.body.drain()
                    continue
                case .established: action = exchange.verified()
                case .refused(let reason): action = .deliver(.refused(reason))
                }
            }
            if case .verify(let token) = action {
                guard case .established = try await grant.exchange.respond(to: token) else {
                    let message =
                        "\(origin) answered \(response.status.code) before the exchange was complete. Report it to its administrator."
                    throw AuthorizationError(.invalidResponse, message)
                }
                action = exchange.verified()
            }
            let result = try action.delivering(lease.carrying(response))
            if result.delivery == .authenticated { lease.keepConnection() }
            return result
        }
    }

    private func grant(for request: HTTPClientRequest, url: URL) async throws -> AuthorizationGrant? {
        let authorization = AuthorizationRequest(
            url: url,
            headers: request.headers.fields,
            principal: configuration.principal,
            isUserInterfaceEnabled: configuration.isUserInterfaceEnabled
        )
        guard case .headers(let grant) = try await credentialExtension.beginAuthorization(with: authorization) else { return nil }
        return grant
    }

    private enum NextLeg {
        case send(HTTPFields)
        case established
        case refused(String)
    }

    /// Feeds the token of a 401. A server's refusal that says why is the caller's 401, as it is from one that refuses without a word.
    private func next(_ exchange: any AuthorizationExchange, _ token: [UInt8]) async throws(AuthorizationError) -> NextLeg {
        let step: AuthorizationExchangeStep
        do {
            step = try await exchange.respond(to: token)
        } catch {
            if error.code == .refusedByServer { return .refused(error.message) }
            throw error
        }
        switch step {
        case .send(let fields): return .send(fields)
        case .established: return .established
        }
    }

    private func send(
        _ request: HTTPClientRequest,
        body: RequestBody,
        with client: HTTPClient,
        origin: Origin
    ) async throws -> HTTPClientResponse {
        // Draining a body ends without an error when the task is cancelled; nothing more is sent then.
        try Task.checkCancellation()
        var request = request
        request.body = try await body.sending()
        do {
            // The deadline of the whole call cancels the task; none is needed beneath.
            return try await client.execute(request, deadline: .distantFuture)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw HTTPTransportError(error, origin: origin)
        }
    }
}

extension NegotiateExchange {
    fileprivate mutating func receive(_ response: HTTPClientResponse) -> Action {
        receive(status: Int(response.status.code), challenges: response.headers["WWW-Authenticate"])
    }
}

extension NegotiateExchange.Action {
    /// The end of an exchange: the response, or the error. Nothing of the body is handed on with an error.
    fileprivate func delivering(_ response: HTTPClientResponse) throws(AuthorizationError) -> NegotiatedResponse {
        switch self {
        case .deliver(let delivery): return NegotiatedResponse(response: response, delivery: delivery)
        case .fail(let error): throw error
        case .begin, .respond, .verify: throw AuthorizationError(.failed, "The exchange did not end. Report it with the server's name.")
        }
    }
}

extension NegotiatedResponse {
    fileprivate func with(history: [HTTPClientRequestResponse]) -> NegotiatedResponse {
        var response = response
        response.history = history
        return NegotiatedResponse(response: response, delivery: delivery)
    }
}

extension HTTPClientResponse.Body {
    /// Reads a body that nobody wants, so that its connection can be used again. With more than 64 KiB the connection is closed instead.
    fileprivate func drain() async {
        var remaining = 65536
        do {
            for try await piece in self {
                remaining -= piece.readableBytes
                if remaining < 0 { return }
            }
        } catch {
            // The connection is lost, which the next request finds out, or the task is cancelled.
        }
    }
}
