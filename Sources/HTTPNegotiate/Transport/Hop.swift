internal import HTTPTypes
internal import SignOnPolicy

internal import struct Foundation.URL
internal import struct Foundation.URLComponents

extension NegotiatingCall {
    /// The result of one hop.
    struct Answer {
        let response: Transport.Response
        let report: NegotiationReport
    }

    /// A request to one origin, and the decision for it.
    struct Target {
        let request: Transport.Request
        let url: URL
        let origin: Origin
        let plan: AuthorizationPlan?

        var bindsChannel: Bool { plan?.bindsChannel ?? (origin.scheme == .https) }

        func connectionIdentity(_ authorization: AuthorizationIdentity, channelBindings: [UInt8]?) -> ConnectionIdentity {
            ConnectionIdentity(
                origin: origin,
                authorization: authorization,
                bindsChannel: bindsChannel,
                channelBindings: channelBindings
            )
        }
    }

    /// Sends one request to one origin and answers a challenge. Makes the request replayable if it may have to be sent twice.
    func hop(_ request: inout Transport.Request, to origin: Origin) async throws -> Answer {
        guard let url = URL(string: request.url)?.withoutUser else {
            throw AuthorizationError(.invalidURL, "The URL of the request cannot be parsed. Percent-encode it.")
        }
        let plan = credentialExtension.decision(for: url).plan
        if plan != nil { try await request.makeReplayable(upTo: settings.options.maximumReplayableBody, for: origin) }
        let target = Target(request: request, url: url, origin: origin, plan: plan)
        if let plan, let known = memory.entry(for: origin) {
            if known.isConnectionBound, let answer = try await sendOverAuthenticatedConnection(target, known) { return answer }
            if plan.isPreemptive, let answer = try await sendPreemptively(target, known) { return answer }
            if known.wasChallenged, !known.isConnectionBound, !plan.isPreemptive { return try await sendWithGrantReady(target, known) }
        }
        return try await answer(try await sendWithoutCredentials(request, to: origin), to: target)
    }

    /// Sends the request without a ticket to a server that challenged before, and prepares a grant meanwhile.
    private func sendWithGrantReady(_ target: Target, _ known: OriginMemory.Entry) async throws -> Answer {
        async let ready = readyGrant(for: target, channelBindings: target.bindsChannel ? known.channelBindings : nil)
        let response = try await sendWithoutCredentials(target.request, to: target.origin)
        guard response.statusCode == 401 else { return try await answer(response, to: target) }
        return try await answer(response, to: target, ready: await ready)
    }

    private func sendWithoutCredentials(_ request: Transport.Request, to origin: Origin) async throws -> Transport.Response {
        try await repeating(request, to: origin, transport.sendWithoutCredentials)
    }

    /// Sends a request, and repeats it if the connection closes without a response and the request may be repeated.
    func repeating(
        _ request: Transport.Request,
        to origin: Origin,
        _ send: (Transport.Request, Origin) async throws -> Transport.Response
    ) async throws -> Transport.Response {
        var attempts = 0
        do {
            while true {
                attempts += 1
                do {
                    return try await observing(request) { try await send($0, origin) }
                } catch ConnectionChange.unanswered(let failure) {
                    guard attempts < Self.maximumAttempts else { throw failure }
                }
            }
        } catch let error as HTTPTransportError {
            throw error.suspectingSize(of: request)
        }
    }

    /// Delivers a response to a request without a ticket, or answers its challenge.
    private func answer(_ response: Transport.Response, to target: Target, ready: ReadyGrant? = nil) async throws -> Answer {
        var exchange = exchange(for: target)
        switch exchange.receive(status: response.statusCode, challenges: response.fieldValues("WWW-Authenticate")) {
        case .begin:
            let bindings = target.bindsChannel ? response.channelBindings : nil
            guard let grant = try await grant(for: target, channelBindings: bindings, ready: ready) else {
                return Answer(
                    response: response,
                    report: NegotiationReport(delivery: try exchange.declined().delivery(from: target.origin))
                )
            }
            guard target.request.isReplayable else {
                memory.noteLateChallenge(target.origin, channelBindings: bindings, isMultiplexed: response.isMultiplexed)
                let message = "\(target.origin) asks for a ticket, but the body cannot be sent again. Pass a closure that creates the body."
                throw AuthorizationError(.bodyNotReplayable, message)
            }
            let isMultiplexed = response.isMultiplexed
            await response.drain()
            return try await authenticate(
                Attempt(target: target, grant: grant, exchange: exchange, channelBindings: bindings, isMultiplexed: isMultiplexed)
            )
        case let action:
            memory.noteUnchallenged(target.origin)
            return Answer(response: response, report: NegotiationReport(delivery: try action.delivery(from: target.origin)))
        }
    }

    /// Sends the request with a ticket at once, to a server that challenged before; nil if the extension provides none.
    private func sendPreemptively(_ target: Target, _ known: OriginMemory.Entry) async throws -> Answer? {
        let bindings = target.bindsChannel ? known.channelBindings : nil
        guard let grant = try await grant(for: target, channelBindings: bindings) else { return nil }
        let attempt = Attempt(
            target: target,
            grant: grant,
            exchange: exchange(for: target),
            channelBindings: bindings,
            isMultiplexed: known.isMultiplexed
        )
        let answer = try await authenticate(attempt)
        if case .refused = answer.report.delivery { memory.forget(target.origin) }
        return answer
    }

    /// Sends the request without a ticket over an idle connection that the server has authenticated for the same identity; nil if there is
    /// none.
    private func sendOverAuthenticatedConnection(_ target: Target, _ known: OriginMemory.Entry) async throws -> Answer? {
        let bindings = target.bindsChannel ? known.channelBindings : nil
        // Without a current identity, no authenticated connection may be used; the next challenge produces the error.
        guard let authorization = try? await credentialExtension.identity(for: request(for: target, channelBindings: bindings)) else {
            return nil
        }
        let identity = target.connectionIdentity(authorization, channelBindings: bindings)
        guard let connection = try transport.authenticatedConnection(for: identity) else { return nil }
        let response: Transport.Response
        do {
            response = try await observing(target.request) { try await transport.send($0, over: connection, to: target.origin) }
        } catch is ConnectionChange {
            return nil
        }
        guard response.statusCode != 401 else { return try await answer(response, to: target) }
        connection.keep(isAuthenticated: true)
        let report = NegotiationReport(delivery: .authenticated, identity: authorization, isChannelBound: bindings != nil)
        return Answer(response: response, report: report)
    }

    private func exchange(for target: Target) -> NegotiateExchange {
        NegotiateExchange(
            upgradesOverTLS: target.origin.scheme == .https && target.request.asksForUpgrade,
            maximumLegs: settings.options.maximumLegs,
            mutualAuthentication: settings.options.mutualAuthentication ?? target.plan?.mutualAuthentication ?? .required
        )
    }
}

extension URL {
    /// The URL without user name and password, which are only for the server.
    fileprivate var withoutUser: URL? {
        guard user != nil || password != nil, var components = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return self }
        (components.user, components.password) = (nil, nil)
        return components.url
    }
}

extension NegotiateExchange.Action {
    /// The delivery at the end of an exchange, or its error. With an error, no part of the response is delivered.
    func delivery(from origin: Origin) throws(AuthorizationError) -> NegotiateExchange.Delivery {
        switch self {
        case .deliver(let delivery): return delivery
        case .fail(let error): throw AuthorizationError(error.code, "\(origin): \(error.message)", cause: error.cause)
        case .begin, .respond, .verify:
            throw AuthorizationError(.failed, "The exchange did not finish. Report this error with the server's name.")
        }
    }
}

extension HTTPTransportError {
    /// Names the request's largest field in the message, if the server may have closed the connection because of its size, as nginx does
    /// over HTTP/2.
    func suspectingSize(of request: some NegotiableRequest) -> HTTPTransportError {
        let largest = request.fields.max { $0.value.utf8.count < $1.value.utf8.count }
        guard code == .connectionClosed, let largest, largest.value.utf8.count > NegotiateExchange.usualFieldLimit else { return self }
        let event = message.firstRange(of: ". ").map { String(message[..<$0.lowerBound]) } ?? message
        let advice =
            "The request's field \(largest.name) has \(largest.value.utf8.count) bytes, which may be more than the server "
            + "accepts: raise its "
            + "limit (large_client_header_buffers in nginx, LimitRequestFieldSize in Apache)."
        return HTTPTransportError(code, "\(event). \(advice)", cause: cause)
    }
}
