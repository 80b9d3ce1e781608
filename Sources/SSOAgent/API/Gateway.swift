internal import Foundation
internal import HTTPNegotiate
internal import HTTPTypes
internal import Hummingbird
internal import KerberosEngine
internal import SSOAgentClient

extension AgentAPI {
    /// `GET /v1/auth-request`: for nginx's `auth_request`. The URL in `X-Original-URL` gets its `Authorization`, or 401 or 403 with the
    /// reason; nginx makes an error of anything else.
    func authRequest(_ request: Request, _ context: AgentContext) async throws -> Response {
        do {
            switch try await outcome(of: try Self.originalRequest(request), context) {
            case .headers(let grant):
                var headers = grant.headers
                // A token is of use once.
                headers[.cacheControl] = "no-store"
                return Response(status: .ok, headers: headers)
            case .completed: return Self.refusal(.forbidden, "there is no header for this.")
            case .notHandled(let reasons):
                return Self.refusal(.forbidden, reasons.last { $0.verdict == .failed }?.detail ?? "no rule covers the URL.")
            }
        } catch let problem as AgentProblem {
            return Self.refusal(.forbidden, problem.detail)
        } catch let error as AuthorizationError where error.code == .busy {
            var refusal = Self.refusal(.tooManyRequests, error.message)
            refusal.headers[.retryAfter] = "1"
            return refusal
        } catch let error as AuthorizationError {
            return Self.refusal(error.code == .invalidURL ? .forbidden : .unauthorized, error.message)
        }
    }

    /// Held to the strict rules: a part of it may be what a stranger asked nginx for.
    private static func originalRequest(_ request: Request) throws -> AuthorizationRequest {
        let urls = request.headers[values: .originalURL]
        guard urls.count == 1, let text = urls.first else {
            throw AgentProblem.badRequest("one field X-Original-URL with the upstream's URL is needed.")
        }
        _ = try Origin(url: text)
        guard let url = URL(string: text) else { throw AuthorizationError(.invalidURL, "This is not a URL.") }
        return AuthorizationRequest(url: url)
    }

    /// The reason on one line of ASCII, as a field has it.
    private static func refusal(_ status: HTTPResponse.Status, _ reason: String) -> Response {
        let text = String(String.UnicodeScalarView(reason.unicodeScalars.prefix(500).map { (" "..."~").contains($0) ? $0 : "?" }))
        return Response(status: status, headers: [.reason: text, .cacheControl: "no-store"])
    }
}
