extension TestRealm {
    /// Ends the KDC; its ports refuse connections until ``startKDC(clockOffset:)``. Does nothing if it is not running.
    public func stopKDC() async throws {
        try await center.stop()
    }

    /// Starts the KDC again and returns when it answers.
    ///
    /// It gets the same ports, unless another program has taken one meanwhile: then new ones, and krb5.conf is rewritten.
    /// - Parameter clockOffset: How far the KDC's clock is from the machine's, in whole seconds; none if nil.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it runs already or does not start.
    public func startKDC(clockOffset: Duration? = nil) async throws {
        try await center.start(clockOffset: clockOffset)
    }

    /// Makes the KDC swallow packets: the kernel still accepts connections, but nobody answers.
    ///
    /// A client of libkrb5 gives up after 27 seconds. Call ``resumeKDC()`` to go on; the end of the realm needs no resuming.
    public func pauseKDC() async throws {
        try await center.pause()
    }

    /// Ends the pause that ``pauseKDC()`` began; requests that waited are answered now.
    public func resumeKDC() async throws {
        try await center.resume()
    }

    /// The KDC's log so far: one line with `AS_REQ` or `TGS_REQ` for each request that it decided.
    ///
    /// Every start of the KDC leaves an `AS_REQ` for `krbtgt` of the realm itself, by which the kit knows that it answers.
    public func log() throws -> String {
        try String.contents(ofFile: center.configuration.logPath)
    }
}
