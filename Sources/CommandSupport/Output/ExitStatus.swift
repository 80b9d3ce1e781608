/// The exit status of the process.
package struct ExitStatus: RawRepresentable, Sendable, Equatable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let done = ExitStatus(rawValue: 0)
    package static let failed = ExitStatus(rawValue: 1)
    package static let notHandled = ExitStatus(rawValue: 3)
    package static let notInteractive = ExitStatus(rawValue: 4)
    package static let notSignedIn = ExitStatus(rawValue: 5)
    package static let kdcUnreachable = ExitStatus(rawValue: 6)
    package static let serverRefused = ExitStatus(rawValue: 22)
    package static let usage = ExitStatus(rawValue: 64)
    /// EX_TEMPFAIL of sysexits.h: an agent exits with it to be started again.
    package static let temporaryFailure = ExitStatus(rawValue: 75)
    package static let canceled = ExitStatus(rawValue: 130)
    /// 128 plus SIGPIPE's number, as a shell reports it.
    package static let brokenPipe = ExitStatus(rawValue: 141)
}
