extension HTTPTransportError {
    /// Names what a request to an origin died of.
    ///
    /// - Parameter reason: What the library beneath says, as a clause.
    package init(_ code: Code, origin: Origin, reason: String, cause: any Error) {
        let message =
            switch code {
            case .hostNotFound: "No address was found for \(origin.host). Check its spelling and the name service."
            case .connectionRefused:
                "\(origin.host) refuses connections on port \(origin.port). Check that the server runs and that the port is right."
            case .connectionClosed:
                "\(origin) closed the connection before its response was complete. Try again; the server's log says why it did."
            case .timedOut: "\(origin) did not answer in time. Check that it is reachable from here."
            case .tls:
                "No TLS connection with \(origin) came about: \(reason). Check its certificate and the authorities that are trusted here."
            case .malformedResponse: "\(origin) answered with something that is not HTTP. Check scheme and port: \(reason)."
            default: "The request to \(origin) failed: \(reason)."
            }
        self.init(code, message, cause: cause)
    }
}
