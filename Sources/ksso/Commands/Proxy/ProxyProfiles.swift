internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import KerberosSSO
internal import NegotiateProxy
internal import SSOAgent
internal import SignOnPolicy
internal import SystemSupport

/// Applies changes of the profiles to a running proxy: the routes, and without an agent the hosts that are answered. An agent follows the
/// profiles itself.
struct ProxyProfiles: Sendable {
    let search: ProfileSearch
    let options: ProxyRoutes.Options
    let environment: [String: String]
    let ownPorts: Set<Int>

    /// The routes of profiles, and their source.
    func routes(_ configurations: [ExtensionConfiguration]) throws(RoutingError) -> (ProxyRoutes, any RouteSource) {
        let routes = ProxyRoutes(options, configurations: configurations, environment: environment)
        return (routes, try routes.makeSource(environment: environment, ownPorts: ownPorts))
    }

    /// Follows the profiles until the task is canceled.
    ///
    /// - Parameter requests: Yields when the profiles are to be read again even if no change was detected.
    func follow(from first: [Profile], _ signOn: ProxySignOn, _ current: CurrentRoutes, requests: AsyncStream<Void>) async {
        let (occasions, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = FileWatch { search.places }
        if watch == nil {
            Console.report(
                "the kernel provides no file watch, so changes to the profiles are not detected. After one: kill -HUP \(getpid())"
            )
        }
        let forwarding = [
            Task { for await _ in requests { continuation.yield() } },
            Task { if let watch { for await _ in watch.changes { continuation.yield() } } },
        ]
        defer { for task in forwarding { task.cancel() } }
        var active = first
        for await _ in occasions {
            let found = await BlockingCall.run { [active] in search.runAgain(keeping: active) }
            let isUsable = !found.warnings.contains { $0.error?.code == .policyUnusable }
            guard isUsable, found.profiles != active else { continue }
            active = found.profiles
            await signOn.reopen()
            let sources = active.map(\.source).joined(separator: ", ")
            Console.report("the profiles have changed. Active: \(sources.isEmpty ? "none" : sources).")
            do throws(RoutingError) {
                let (routes, source) = try self.routes(found.configurations)
                current.replace(with: routes, source)
            } catch {
                Console.report("warning: \(error.message) The proxy keeps its previous routes.")
            }
        }
    }
}
