internal import SystemSupport

/// The script of a PAC file, which is read when it is first needed, and again when it may have changed.
///
/// A file is read again when it is changed or replaced. A URL is fetched again after 15 minutes, in the background, and when the
/// evaluation has failed. If that fails, the former script stays in use and the next attempt is made after some time. Without a
/// former script the requests fail with the reason.
package actor PACSource {
    /// When a URL is fetched again.
    package struct Intervals: Sendable {
        /// The age at which a script is fetched again.
        package var refresh = Duration.seconds(15 * 60)
        /// The least time between two attempts.
        package var retry = Duration.seconds(10)

        /// Creates the default intervals.
        package init() {}
    }

    private struct Copy {
        let script: PACScript
        let version: PACFile.Version?
        let readAt: ContinuousClock.Instant
    }

    private struct Attempt {
        let startedAt: ContinuousClock.Instant
        /// The running fetch; nil once it has finished.
        var task: Task<Result<PACScript, RoutingError>, Never>?
        var failure: RoutingError?
    }

    let location: PACLocation
    private let download: PACDownload
    private let intervals: Intervals
    private let now: @Sendable () -> ContinuousClock.Instant
    private var copy: Copy?
    private var attempt: Attempt?
    /// Whether the evaluation of the copy has failed.
    private var isSuspect = false

    /// Creates a source that has not read the file yet.
    package init(_ location: PACLocation) {
        self.init(location, download: PACDownload())
    }

    /// Creates a source with its parts, for tests.
    init(
        _ location: PACLocation,
        download: PACDownload,
        intervals: Intervals = Intervals(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        (self.location, self.download, self.intervals, self.now) = (location, download, intervals, now)
    }

    /// Why the last attempt to read the file failed; nil if it succeeded.
    package var lastFailure: RoutingError? { attempt?.failure }

    /// The present script.
    func script() async throws(RoutingError) -> PACScript {
        switch location.place {
        case .file(let path): try await script(ofFile: path)
        case .server: try await scriptOfServer()
        }
    }

    /// Records that the evaluation of a script failed.
    func evaluationFailed(of script: PACScript) {
        if copy?.script == script { isSuspect = true }
    }

    private func script(ofFile path: String) async throws(RoutingError) -> PACScript {
        let version = PACFile.Version(path: path)
        if let copy, copy.version == version, version != nil { return copy.script }
        let location = location
        let result = await BlockingCall.run {
            Result { () throws(RoutingError) in try Self.decode(try PACFile.read(path, location), location) }
        }
        attempt = Attempt(startedAt: now(), failure: result.failure)
        let script = try result.get()
        copy = Copy(script: script, version: version, readAt: now())
        return script
    }

    private func scriptOfServer() async throws(RoutingError) -> PACScript {
        let present = now()
        let isDue = attempt.map { present - $0.startedAt >= intervals.retry } ?? true
        guard let copy else {
            if !isDue, let failure = attempt?.failure { throw failure }
            return try await fetch().value.get()
        }
        guard isDue, isSuspect || present - copy.readAt >= intervals.refresh else { return copy.script }
        let task = fetch()
        // A script that works is used until the new one is there.
        return isSuspect ? (try? await task.value.get()) ?? copy.script : copy.script
    }

    /// The running fetch, or a new one.
    private func fetch() -> Task<Result<PACScript, RoutingError>, Never> {
        if let task = attempt?.task { return task }
        let (download, location) = (download, location)
        let task = Task { () -> Result<PACScript, RoutingError> in
            let result: Result<PACScript, RoutingError>
            do throws(RoutingError) {
                result = .success(try Self.decode(try await download.fetch(location), location))
            } catch {
                result = .failure(error)
            }
            self.finish(result)
            return result
        }
        attempt = Attempt(startedAt: now(), task: task)
        return task
    }

    private func finish(_ result: Result<PACScript, RoutingError>) {
        attempt?.task = nil
        attempt?.failure = result.failure
        guard case .success(let script) = result else { return }
        copy = Copy(script: script, version: nil, readAt: now())
        isSuspect = false
    }

    private static func decode(_ bytes: [UInt8], _ location: PACLocation) throws(RoutingError) -> PACScript {
        do throws(PACScript.Problem) {
            return try PACScript(bytes)
        } catch {
            throw RoutingError("The PAC file \(location) \(error.clause): correct it.")
        }
    }
}

extension Result {
    /// The error; nil for a success.
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
