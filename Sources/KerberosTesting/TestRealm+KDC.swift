extension TestRealm {
    /// Ends a KDC; its port refuses connections and datagrams until ``startKDC(_:clockOffset:)``. Does nothing if it is not running.
    ///
    /// - Parameter number: Which KDC, from 0 in krb5.conf's order; nil is all of them, here and below.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if there is no such KDC.
    public func stopKDC(_ number: Int? = nil) async throws {
        try await center.stop(number)
    }

    /// Ends a KDC by SIGKILL, in the midst of whatever it does.
    ///
    /// - Throws: As ``stopKDC(_:)``.
    public func killKDC(_ number: Int? = nil) async throws {
        try await center.stop(number, signal: "KILL")
    }

    /// Starts a KDC again and returns when it answers; of several those that do not run.
    ///
    /// Its port is the same: no other program is given it meanwhile.
    /// - Parameters:
    ///   - number: Which KDC; nil is all of them.
    ///   - clockOffset: How far the KDC's clock is from the machine's, in whole seconds; none if nil.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it runs already or does not start, `invalidArgument` if there
    ///   is no such KDC.
    public func startKDC(_ number: Int? = nil, clockOffset: Duration? = nil) async throws {
        try await center.start(number, clockOffset: clockOffset)
    }

    /// Sets a KDC's clock, by a restart: how far it is from the machine's, in whole seconds; negative means that the KDC is behind.
    ///
    /// - Throws: As ``startKDC(_:clockOffset:)``.
    public func setKDCClock(offset: Duration, of number: Int? = nil) async throws {
        try await center.restart(number, clockOffset: offset)
    }

    /// Makes a KDC swallow packets: the kernel still accepts connections, but nobody answers.
    ///
    /// A client of libkrb5 gives up after 27 seconds. Call ``resumeKDC(_:)`` to go on; the end of the realm needs no resuming.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it is not running, `invalidArgument` if there is no such KDC.
    public func pauseKDC(_ number: Int? = nil) async throws {
        try await center.pause(number)
    }

    /// Ends the pause that ``pauseKDC(_:)`` began; requests that waited are answered now.
    ///
    /// - Throws: As ``pauseKDC(_:)``.
    public func resumeKDC(_ number: Int? = nil) async throws {
        try await center.resume(number)
    }

    /// The networks between the clients and each KDC, in krb5.conf's order; empty without ``TestRealmOptions/faultProxy``.
    public var networks: [KDCNetwork] { ownCenter?.networks ?? [] }

    /// The network between the clients and the first KDC, of a realm made with ``TestRealmOptions/faultProxy``.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for a realm that has none, `notAdministered` for somebody else's.
    public var network: KDCNetwork {
        get throws {
            if let network = try center.networks.first { return network }
            throw KerberosTestingError(.invalidArgument, "The clients of \(name) reach the KDC directly; make it with faultProxy: true.")
        }
    }

    /// The KDC's log so far: one line with `AS_REQ` or `TGS_REQ` for each request that it decided.
    ///
    /// Every start of a KDC leaves an `AS_REQ` for `krbtgt` of the realm itself, by which the kit knows that it answers.
    /// - Parameter number: Of several, whose log; nil is one log of them all.
    /// - Throws: ``KerberosTestingError`` with the code `notAdministered` for a realm that somebody else runs.
    public func log(ofKDC number: Int? = nil) throws -> String {
        try String.contents(ofFile: center.configuration.logPath(number))
    }
}
