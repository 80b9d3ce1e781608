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
    /// Names what a request to an origin died of.
    init(_ cause: any Error, origin: Origin) {
        self.init(HTTPTransportError.code(of: cause), origin: origin, cause: cause)
    }

    private init(_ code: Code, origin: Origin, cause: any Error) {
        let message =
            switch code {
            case .hostNotFound: "No address was found for \(origin.host). Check its spelling and the name service."
            case .connectionRefused:
                "\(origin.host) refuses connections on port \(origin.port). Check that the server runs and that the port is right."
            case .connectionClosed:
                "\(origin) closed the connection before its response was complete. Try again; the server's log says why it did."
            case .timedOut: "\(origin) did not answer in time. Check that it is reachable from here."
            case .tls:
                "No TLS connection with \(origin) came about: \(cause). Check its certificate and the authorities that are trusted here."
            case .malformedResponse: "\(origin) answered with something that is not HTTP. Check scheme and port: \(cause)."
            case .shutDown: "The client was shut down. Make a new one."
            default: "The request to \(origin) failed: \(cause)."
            }
        self.init(code, message, cause: cause)
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
