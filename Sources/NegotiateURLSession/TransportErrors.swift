import Foundation
import FoundationNetworking
import HTTPNegotiate

extension HTTPTransportError {
    /// The error of a session that was invalidated.
    static let shutDown = HTTPTransportError(.shutDown, "The session was invalidated. Create a new one.")

    /// Describes the error that ended a request to an origin. Cancellation, and an error that is already described, are returned unchanged.
    static func naming(_ cause: any Error, origin: Origin) -> any Error {
        if cause is CancellationError || cause is HTTPTransportError { return cause }
        let code = code(of: cause, origin: origin)
        guard code != .shutDown else { return HTTPTransportError(.shutDown, HTTPTransportError.shutDown.message, cause: cause) }
        return HTTPTransportError(code, origin: origin, reason: cause.localizedDescription, cause: cause)
    }

    private static func code(of error: any Error, origin: Origin) -> Code {
        guard let error = error as? URLError else { return .other }
        switch error.code {
        case .cannotFindHost, .dnsLookupFailed: return .hostNotFound
        case .cannotConnectToHost: return .connectionRefused
        case .networkConnectionLost, .badServerResponse: return .connectionClosed
        case .timedOut: return .timedOut
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
            .serverCertificateHasUnknownRoot:
            return .tls
        // The URL's scheme was checked before; here it is the response that is not supported.
        case .unsupportedURL: return .malformedResponse
        // Tasks in progress are canceled when their session is invalidated.
        case .cancelled: return .shutDown
        default: return code(ofText: error.localizedDescription, origin: origin)
        }
    }

    /// Returns the code for an error text, because FoundationNetworking has codes for only a few of libcurl's errors.
    private static func code(ofText text: String, origin: Origin) -> Code {
        let kinds: [(Code, [String])] = [
            (.connectionClosed, ["transfer closed", "Recv failure", "Send failure", "Connection reset", "unexpected eof", "HTTP/2"]),
            (.malformedResponse, ["Failed writing header", "Header without colon", "Weird server reply"]),
            (.tls, origin.scheme == .https ? ["SSL", "TLS", "certificate", "gnutls"] : []),
        ]
        return kinds.first { $0.1.contains { text.contains($0) } }?.0 ?? .other
    }
}
