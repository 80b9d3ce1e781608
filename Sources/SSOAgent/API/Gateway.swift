internal import Foundation
internal import HTTPNegotiate
internal import HTTPTypes
internal import Hummingbird
internal import KerberosEngine
internal import SSOAgentClient

extension AgentAPI {
    /// `GET /v1/auth-request`: for nginx's `auth_request`. Returns `Authorization` for the URL in `X-Original-URL`, or status 401 or 403
    /// with the reason. nginx treats any other status as an error, such as 429 for too many waiting requests.
    func authRequest(_ request: Request, _ context: AgentContext) async throws -> Response {
        do {
            switch try await outcome(of: try Self.originalRequest(request), context) {
            case .headers(let grant):
                var headers = grant.headers
                // A token can be used only once.
                headers[.cacheControl] = "no-store"
                return Response(status: .ok, headers: headers)
            case .completed: return Self.refusal(.forbidden, "no header is available for this request.")
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

    /// Applies the strict URL rules, because part of the URL may come from an untrusted client of nginx.
    private static func originalRequest(_ request: Request) throws -> AuthorizationRequest {
        let urls = request.headers[values: .originalURL]
        guard urls.count == 1, let text = urls.first else {
            throw AgentProblem.badRequest("exactly one X-Original-URL field with the upstream's URL is required.")
        }
        _ = try Origin(url: text)
        guard let url = URL(string: text) else {
            throw AuthorizationError(.invalidURL, "\(text.debugDescription) is not a valid URL. Percent-encode it.")
        }
        return AuthorizationRequest(url: url)
    }

    /// Creates a response with the reason in one line of ASCII, as a header field requires.
    private static func refusal(_ status: HTTPResponse.Status, _ reason: String) -> Response {
        let text = String(String.UnicodeScalarView(reason.unicodeScalars.prefix(500).map { (" "..."~").contains($0) ? $0 : "?" }))
        return Response(status: status, headers: [.reason: text, .cacheControl: "no-store"])
    }
}
