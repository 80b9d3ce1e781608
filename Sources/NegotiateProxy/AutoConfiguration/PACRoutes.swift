/// The routes that a PAC file returns.
///
/// ```swift
/// let evaluator = PACEvaluator(PACWorkerProgram(path: OwnProgram.executable))
/// let routes = PACRoutes(PACSource(try PACLocation("http://wpad.corp.example/proxy.pac")), evaluator)
/// ```
///
/// A file that cannot be read, does not parse, throws, or exceeds the time limit is an error that names it: the request fails instead
/// of leaving without the proxy. Upstream proxies that could not be reached are tried last for 30 seconds.
package struct PACRoutes: RouteSource {
    private let source: PACSource
    private let evaluator: PACEvaluator
    /// The servers that could not be reached.
    package let failures: UpstreamFailures

    /// Creates the routes of one PAC file.
    package init(_ source: PACSource, _ evaluator: PACEvaluator, failures: UpstreamFailures = UpstreamFailures()) {
        (self.source, self.evaluator, self.failures) = (source, evaluator, failures)
    }

    package func routes(to target: RouteTarget) async throws(RoutingError) -> [ProxyRoute] {
        let script = try await source.script()
        do throws(RoutingError) {
            let host = PACURL.escape(target.host)
            let answer = try await evaluator.answer(url: PACURL.text(for: target), host: host, script, from: source.location)
            return failures.order(try PACAnswer(answer, for: target.host, from: source.location).routes)
        } catch {
            await source.evaluationFailed(of: script)
            throw error
        }
    }

    package func connectionEnded(to server: ProxyServer, isEstablished: Bool) {
        failures.record(server, isEstablished: isEstablished)
    }
}
