import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension HTTPTransportError {
    /// The error of a client that was shut down.
    static let shutDown = HTTPTransportError(.shutDown, "The client was shut down. Create a new one.")

    /// Describes the error that ended a request to an origin.
    init(_ cause: any Error, origin: Origin) {
        if let message = HTTPTransportError.message(ofHTTP2: cause, origin: origin) {
            self.init(.connectionClosed, message, cause: cause)
            return
        }
        let code = HTTPTransportError.code(of: cause)
        guard code != .shutDown else {
            self.init(.shutDown, HTTPTransportError.shutDown.message, cause: cause)
            return
        }
        guard code != .tls else {
            self.init(tls: cause, origin: origin)
            return
        }
        let reason = cause is any NIOHTTP2Error ? "its frames violate the HTTP/2 protocol" : "\(cause)"
        self.init(code, origin: origin, reason: reason, cause: cause)
    }

    /// Returns the message for an HTTP/2 stream or connection that the server ended; nil for any other error.
    private static func message(ofHTTP2 error: any Error, origin: Origin) -> String? {
        switch error {
        case let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .refusedStream:
            "\(origin) refused to process the request (HTTP/2 error REFUSED_STREAM). Try again later; the server may be overloaded."
        case let error as NIOHTTP2Errors.StreamClosed:
            "\(origin) ended the request before its response was complete (HTTP/2 error \(error.errorCode.name)). "
                + "Try again, or check the server's log."
        case let error as ConnectionGoAway where error.reason != .noError:
            "\(origin) closed the connection before its response was complete (HTTP/2 error \(error.reason.name)). "
                + "Try again, or check the server's log."
        default: nil
        }
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
        case is ConnectionClosedBeforeRequest, is ConnectionGoAway: .connectionClosed
        case is NIOHTTP2Errors.CreatedStreamAfterGoaway, is NIOHTTP2Errors.IOOnClosedConnection, is NIOHTTP2Errors.NoSuchStream:
            .connectionClosed
        // AsyncHTTPClient's own error, which is not public.
        case _ where "\(type(of: error))" == "HTTP2ReceivedGoAwayBeforeSettingsError": .connectionClosed
        case is any NIOHTTP2Error: .malformedResponse
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
        // Requests in progress fail with this error when their client is shut down.
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

extension HTTP2ErrorCode {
    /// The name in RFC 9113 section 7.
    fileprivate var name: String {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
            "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ]
        return networkCode < names.count ? names[networkCode] : "that no standard defines"
    }
}
