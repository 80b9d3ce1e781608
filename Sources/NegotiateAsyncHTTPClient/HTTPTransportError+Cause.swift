import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOPosix

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension HTTPTransportError {
    /// What a client that was shut down gives.
    static let shutDown = HTTPTransportError(.shutDown, "The client was shut down. Make a new one.")

    /// Names what a request to an origin died of.
    init(_ cause: any Error, origin: Origin) {
        let code = HTTPTransportError.code(of: cause)
        guard code != .shutDown else {
            self.init(.shutDown, HTTPTransportError.shutDown.message, cause: cause)
            return
        }
        self.init(code, origin: origin, reason: code == .tls ? HTTPTransportError.reason(ofTLS: cause) : "\(cause)", cause: cause)
    }

    /// BoringSSL's errors are for its makers, and name their source files.
    private static func reason(ofTLS error: any Error) -> String {
        let text = "\(error)"
        let reasons = [
            ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted here, or not valid now"),
            ("unableToValidateCertificate", "its certificate is not trusted here, or not valid now"),
            ("failedToValidateHostname", "its certificate is for another name"),
            ("WRONG_VERSION_NUMBER", "it speaks no TLS on this port, but perhaps plain http"),
            ("HTTP_REQUEST", "it speaks no TLS on this port, but perhaps plain http"),
        ]
        return reasons.first { text.contains($0.0) }?.1 ?? text.replacing(#/\ at\ /[^ \]]*/#, with: "")
    }

    private static func code(of error: any Error) -> Code {
        switch error {
        case let error as HTTPClientError: code(of: error)
        case let error as IOError: code(ofSystemError: error.errnoCode)
        case let error as NIOConnectionError:
            error.connectionErrors.last.map { code(of: $0.error) } ?? .hostNotFound
        case ChannelError.connectTimeout: .timedOut
        case ChannelError.eof, ChannelError.inputClosed, ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: .connectionClosed
        case HTTPParserError.invalidEOFState: .connectionClosed
        case is HTTPParserError: .malformedResponse
        case is SocketAddressError: .hostNotFound
        case _ where String(reflecting: type(of: error)).hasPrefix("NIOSSL."): .tls
        default: .other
        }
    }

    private static func code(of error: HTTPClientError) -> Code {
        switch error {
        case .remoteConnectionClosed, .uncleanShutdown, .requestStreamCancelled: .connectionClosed
        case .connectTimeout, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout, .deadlineExceeded, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout:
            .timedOut
        case .tlsHandshakeTimeout: .tls
        // Requests in progress are cancelled so when their client is shut down.
        case .alreadyShutdown, .cancelled: .shutDown
        default: .other
        }
    }

    private static func code(ofSystemError number: CInt) -> Code {
        switch number {
        case ECONNREFUSED: .connectionRefused
        case ECONNRESET, EPIPE, ECONNABORTED: .connectionClosed
        case ETIMEDOUT: .timedOut
        default: .other
        }
    }
}
