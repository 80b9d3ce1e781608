internal import ArgumentParser
internal import AsyncHTTPClient
internal import CommandSupport
internal import Foundation
internal import HTTPNegotiate
internal import HTTPTypes
internal import KerberosSSO
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import NegotiateAsyncHTTPClient
internal import SSOAgentClient

struct Fetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetch a page, and sign in if a profile covers the host.",
        discussion: """
            Exits with status 22 if the server responds with status 400 or above and --fail is given.

            EXAMPLES:
              ksso fetch https://intranet.corp.example/
              ksso fetch --fail -o report.pdf https://intranet.corp.example/report.pdf
            """
    )

    @Argument(help: "The URL of the page; https:// may be omitted.", completion: .page, transform: pageURL)
    var url: String
    @Option(name: .customShort("X"), help: ArgumentHelp("The request method; by default GET, or POST with -d.", valueName: "method"))
    var method: String?
    @Option(name: .customShort("H"), help: ArgumentHelp("Add this header to the request.", valueName: "Name: value"))
    var header: [String] = []
    @Option(name: .customShort("d"), help: ArgumentHelp("Send this body, or the contents of @FILE.", valueName: "data"))
    var data: String?
    @Option(
        name: .customShort("o"),
        help: ArgumentHelp("Write the page to this file instead of standard output.", valueName: "file"),
        completion: .file()
    )
    var output: String?
    @Flag(name: .customShort("i"), help: "Print the status line and the headers before the page.")
    var includeHeaders = false
    @Flag(help: "Follow redirects, never from https to http; the profile's rules apply to each host separately.")
    var location = false
    @Flag(help: "Exit with status 22 if the server responds with status 400 or above, and print no page.")
    var fail = false
    @OptionGroup var trust: TrustOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let mayAsk = Console.isInteractive
        try await common.engine.run(prompter: mayAsk ? .terminal : nil) { sso in
            let request = try makeRequest()
            await noteKeptTickets(mayAsk: mayAsk, sso)
            var configuration = NegotiatingHTTPClient.Configuration()
            configuration.negotiation.maximumRedirects = location ? 10 : 0
            configuration.negotiation.isUserInterfaceEnabled = mayAsk
            if common.isVerbose { configuration.observe = Self.note }
            configuration.connections.tlsConfiguration = try trust.tls(environment: ProcessInfo.processInfo.environment)
            try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { client in
                // The user may take a while to type a password. libkrb5 and the connection have their own network timeouts.
                let answer = try await negotiate(request, client, timeout: .seconds(mayAsk ? 300 : 60))
                try await deliver(answer, sso)
            }
        }
    }

    /// Prints that a stopped agent has tickets, because the prompt for a password would not say so.
    private func noteKeptTickets(mayAsk: Bool, _ sso: SingleSignOn) async {
        guard mayAsk, let target = URL(string: url), case .answer(let plan) = sso.decision(for: target),
            let kept = RuntimeDirectory(environment: ProcessInfo.processInfo.environment).keptTickets,
            (try? await sso.sessions())?.session(of: nil, orDefaultOf: plan.realm)?.isSignedIn != true
        else { return }
        Console.note(kept.note)
    }

    /// Prints what is sent to which host, and the status of the response. A token itself is never printed.
    @Sendable private static func note(_ event: CallEvent) {
        switch event {
        case .request(let method, let url, let token):
            let credential = token.map { "with a token of \($0.principal) for \($0.servicePrincipal)" } ?? "without a token"
            Console.note("> \(method) \(withoutUser(url)), \(credential)")
        case .response(let status):
            Console.note("< \(HTTPResponseStatus(statusCode: status))")
        }
    }

    private func negotiate(
        _ request: HTTPClientRequest,
        _ client: NegotiatingHTTPClient,
        timeout: Duration
    ) async throws -> NegotiatedResponse {
        do {
            return try await client.negotiate(request, timeout: timeout)
        } catch let error as HTTPTransportError where error.tlsFault == .untrustedCertificate {
            throw CommandFailure(.failed, "\(error.message) \(TrustOptions.advice)")
        }
    }

    private func makeRequest() throws -> HTTPClientRequest {
        _ = try checkedURL(url)
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "User-Agent", value: "ksso")
        request.headers.add(name: "Accept", value: "*/*")
        for line in header {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let name = HTTPField.Name(parts[0]) else { throw Self.notHeader(line) }
            let value = parts[1].trimmingCharacters(in: .whitespaces)
            guard HTTPField.isValidValue(value) else { throw Self.notHeader(line) }
            request.headers.replaceOrAdd(name: name.rawName, value: value)
        }
        if let data {
            request.method = .POST
            request.body = .bytes(ByteBuffer(data: try body(data)))
            if !request.headers.contains(name: "Content-Type") {
                request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            }
        }
        if let method {
            guard HTTPRequest.Method(method) != nil else {
                throw CommandFailure(.usage, "-X requires a method such as PUT, not '\(method)'.")
            }
            request.method = HTTPMethod(rawValue: method)
        }
        return request
    }

    private static func notHeader(_ line: String) -> CommandFailure { CommandFailure(.usage, "-H requires 'Name: value', not '\(line)'.") }

    private func body(_ argument: String) throws -> Data {
        guard argument.hasPrefix("@") else { return Data(argument.utf8) }
        let path = String(argument.dropFirst())
        do {
            return try path == "-" ? FileHandle.standardInput.readToEnd() ?? Data() : Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be read.")
        }
    }

    private func deliver(_ answer: NegotiatedResponse, _ sso: SingleSignOn) async throws {
        let response = answer.response
        let isRefused = fail && response.status.code >= 400
        let refusal = refusal(answer, sso)
        // Before the page, which may be long.
        if let refusal { Console.report(refusal.message) }
        if !isRefused { try await write(response) }
        if location, !isRefused { reportRedirect(response) }
        if isRefused {
            throw CommandFailure(.serverRefused, refusal == nil ? "\(withoutUser(url)): the server answers \(response.status)." : "")
        }
        if let refusal, refusal.status != .done { throw CommandFailure(refusal.status) }
    }

    /// Reports a redirect that was not followed, which the response's body may not show.
    private func reportRedirect(_ response: HTTPClientResponse) {
        guard (301...308).contains(response.status.code), let target = response.headers.first(name: "Location") else { return }
        Console.report("\(withoutUser(response.url?.absoluteString ?? url)): the redirect to \(withoutUser(target)) is not followed.")
    }

    /// Returns the failure for a response with status 401.
    private func refusal(_ answer: NegotiatedResponse, _ sso: SingleSignOn) -> CommandFailure? {
        guard answer.response.status == .unauthorized else { return nil }
        let url = answer.response.url?.absoluteString ?? url  // the last redirect's
        switch answer.delivery {
        case .refused(let reason):
            // Without an identity no ticket was sent.
            let refusal = answer.report.identity == nil ? "" : "the server refused the ticket: "
            return CommandFailure(.done, "\(withoutUser(url)): \(refusal)\(reason)")
        case .unauthenticated:
            guard let target = answer.response.url else { return nil }
            if case .ignore(let reasons) = sso.decision(for: target) { return .notHandled(target.absoluteString, reasons) }
            // With -H Authorization no challenge is answered, and the result is the user's responsibility.
            guard !header.contains(where: { $0.lowercased().hasPrefix("authorization:") }) else { return nil }
            let schemes = AuthenticationChallenge.parse(answer.response.headers["WWW-Authenticate"]).map(\.scheme)
            let offer = schemes.isEmpty ? "nothing" : schemes.prefix(4).map { String($0.prefix(40)) }.joined(separator: ", ")
            return CommandFailure(
                .done,
                "\(withoutUser(url)): the server requires a sign-in, but does not offer Negotiate: it offers \(offer)."
            )
        case .authenticated:
            return nil
        }
    }

    private func write(_ response: HTTPClientResponse) async throws {
        let target = try output.map { try OutputFile.open($0) }  // nil means standard output
        if includeHeaders {
            let version = "HTTP/\(response.version.major).\(response.version.minor)"
            var head = "\(version) \(response.status.code) \(response.status.reasonPhrase)\r\n"
            for (name, value) in response.headers { head += "\(name): \(value)\r\n" }
            try write(Data("\(head)\r\n".utf8), to: target)
        }
        var body = response.body.makeAsyncIterator()
        while let piece = try await nextPiece(&body) { try write(Data(buffer: piece), to: target) }
        try target?.close()
    }

    private func nextPiece(_ body: inout HTTPClientResponse.Body.AsyncIterator) async throws -> ByteBuffer? {
        do {
            return try await body.next()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw CommandFailure(.failed, "\(withoutUser(url)): the connection closed before the page was complete. Try again.")
        }
    }

    private func write(_ data: Data, to file: FileHandle?) throws {
        guard let file else { return Console.write(data, to: .standardOutput) }
        do {
            try file.write(contentsOf: data)
        } catch {
            throw CommandFailure(.failed, "\(output ?? ""): the file cannot be written\(Console.reason(of: error)).")
        }
    }
}

struct Header: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "header",
        abstract: "Print the Authorization header for a URL.",
        discussion: """
            The header is valid for one request. It is not bound to a TLS certificate, because the connection is unknown here. A server \
            that requires channel bindings refuses it: use ksso fetch instead.

            EXAMPLES:
              ksso header https://intranet.corp.example/ | curl -H @- https://intranet.corp.example/
            """
    )

    @Argument(help: "The URL of the page; https:// may be omitted.", completion: .page, transform: pageURL)
    var url: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.engine.run(bindsTokens: false) { sso in
            switch try await sso.beginAuthorization(with: AuthorizationRequest(url: try checkedURL(url))) {
            case .headers(let grant):
                Console.print("Authorization: \(grant.headers[.authorization] ?? "")")
            case .notHandled(let reasons):
                throw CommandFailure.notHandled(url, reasons)
            case .completed:
                throw CommandFailure(.failed, "\(withoutUser(url)): there is no header to print.")
            }
        }
    }
}

extension CommandFailure {
    /// Returns the failure for a URL that no rule covers, with the reason of the rule that failed.
    static func notHandled(_ url: String, _ reasons: [DecisionReason]) -> CommandFailure {
        let url = withoutUser(url)
        let why = reasons.last { $0.verdict == .failed }?.detail ?? "no rule covers it."
        // A single reason is all that the other command prints.
        let more = reasons.count > 1 ? " See: ksso explain \(url)" : ""
        return CommandFailure(.notHandled, "\(url) is not answered: \(why)\(more)")
    }
}
