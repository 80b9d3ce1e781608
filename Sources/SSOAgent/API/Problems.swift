internal import HTTPTypes
internal import Hummingbird
internal import Kerberos
internal import NIOHTTP1
internal import SSOAgentClient
internal import SignOnPolicy

extension AgentProblem {
    /// Maps an error to the problem that clients receive.
    init(_ error: any Error) {
        switch error {
        case let problem as AgentProblem: self = problem
        case let error as AuthorizationError:
            let underlying = error.cause as? KerberosError
            self.init(
                status: Self.status(of: error.code),
                title: "The request was not authorized",
                code: error.code.rawValue,
                detail: error.message,
                cause: underlying?.code.rawValue,
                libraryMessage: underlying?.libraryMessage,
                libraryCode: underlying?.libraryCode
            )
        case let error as KerberosError:
            self.init(
                status: Self.status(of: error.code),
                title: "Kerberos refused",
                code: error.code.rawValue,
                detail: error.description,
                libraryMessage: error.libraryMessage,
                libraryCode: error.libraryCode
            )
        case let error as any HTTPResponseError: self = Self.http(error.status)
        case is HTTPParserError: self = Self.http(.badRequest)
        case is CancellationError:
            self.init(status: 503, title: "The request was canceled", code: "canceled", detail: "the agent is stopping. Try again.")
        default:
            self.init(status: 500, title: "The agent failed", code: "unknown", detail: "the agent failed: \(error)")
        }
    }

    /// The problem for a body that cannot be decoded.
    static func malformed(_ error: any Error) -> AgentProblem {
        let what: String
        switch error {
        case DecodingError.keyNotFound(let key, _): what = "\(key.stringValue) is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            what = "\(context.codingPath.map(\.stringValue).joined(separator: ".")) has another type"
        default: what = "it is not JSON, or one of its values cannot be read"
        }
        return AgentProblem(
            status: 400,
            title: "The body cannot be read",
            code: "malformedRequest",
            detail: "the body of the request cannot be used: \(what). See openapi.yaml."
        )
    }

    /// The problem for a request that lacks a value or has conflicting ones.
    static func badRequest(_ detail: String) -> AgentProblem {
        AgentProblem(status: 400, title: "The request cannot be used", code: "malformedRequest", detail: detail)
    }

    /// The problem for a caller without permission.
    static func forbidden(_ detail: String) -> AgentProblem {
        AgentProblem(status: 403, title: "The caller may not do this", code: "forbidden", detail: detail)
    }

    /// The problem for an exchange that has ended or belongs to another user; the response does not distinguish them.
    static var unknownExchange: AgentProblem {
        AgentProblem(
            status: 404,
            title: "The exchange has ended",
            code: "unknownExchange",
            detail: "there is no such exchange: it has ended, or waited more than two minutes for the server. Send the request again."
        )
    }

    private static func http(_ status: HTTPResponse.Status) -> AgentProblem {
        switch status {
        case .notFound:
            AgentProblem(
                status: 404,
                title: "There is no such operation",
                code: "unknownOperation",
                detail: "the agent has no operation with this method and path. See openapi.yaml."
            )
        case .contentTooLarge:
            AgentProblem(
                status: 413,
                title: "The body is too large",
                code: "tooLarge",
                detail: "the body of the request exceeds the agent's limit of \(AgentAPI.bodyLimit / 1024) KiB. Send a smaller one."
            )
        default:
            AgentProblem(
                status: status.code,
                title: status.reasonPhrase,
                code: "malformedRequest",
                detail: "the agent's HTTP server refused the request: \(status.reasonPhrase). Compare it with openapi.yaml."
            )
        }
    }

    private static func status(of code: AuthorizationError.Code) -> Int {
        switch code {
        case .invalidURL: 400
        case .notHandled: 404
        case .notSignedIn, .notInteractive: 409
        case .kdcUnreachable: 503
        case .busy: 429
        case .timedOut: 504
        default: 422
        }
    }

    private static func status(of code: KerberosError.Code) -> Int {
        switch code {
        case .malformedPrincipal: 400
        case .noCredentials, .ticketExpired, .ticketRefused, .notInteractive: 409
        case .kdcUnreachable, .realmUnknown: 503
        case .busy: 429
        default: 422
        }
    }
}
