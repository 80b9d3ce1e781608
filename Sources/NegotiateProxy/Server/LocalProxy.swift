internal import EventLoopTasks
package import HTTPNegotiate
package import Logging
internal import NIOCore
internal import NIOPosix

/// A proxy on this machine, for clients that know no Kerberos.
///
/// It answers upstream proxies and http origins that ask for a ticket, if the profile covers them, and opens tunnels with CONNECT. With a
/// ``ProxyConfiguration/destination`` it forwards to one server instead, also to an https one (reverse mode). Only the configured users may
/// use it.
///
/// ```swift
/// let configuration = ProxyConfiguration(listeners: [.tcp(host: "127.0.0.1", port: 3128)], users: [getuid()])
/// let proxy = LocalProxy(configuration: configuration, credentials: signOn, routes: routes, logger: logger)
/// try await proxy.run()                     // until its task is canceled
/// ```
package struct LocalProxy: Sendable {
    private let context: ProxyContext

    package init(
        configuration: ProxyConfiguration,
        credentials: any CredentialExtension,
        routes: any RouteSource,
        logger: Logger
    ) {
        context = ProxyContext(
            configuration: configuration,
            credentials: credentials,
            routes: routes,
            activity: ProxyActivity(),
            logger: logger
        )
    }

    /// A snapshot of what the proxy does.
    package var status: ProxyStatus {
        get async { context.activity.status }
    }

    /// Serves clients until the task is canceled. Then idle connections close at once, and requests and tunnels after
    /// ``ProxyConfiguration/Limits/gracePeriod``.
    ///
    /// - Parameter ready: Called with the addresses and paths of the sockets when clients can connect.
    /// - Throws: ``ListenerError`` if a socket cannot be used.
    package func run(ready: @Sendable ([String]) -> Void = { _ in }) async throws {
        let context = context
        let (accepted, continuation) = AsyncStream.makeStream(of: MessageStream.self)
        let listeners = try await ProxyListeners(context.configuration.listeners) { channel in
            // Data from a client stays in the kernel until there is a task that reads it.
            guard case .enqueued = continuation.yield(try MessageStream(channel, idleTime: context.idleTime)) else {
                return channel.close(promise: nil)
            }
        }
        context.activity.listens(at: listeners.addresses)
        ready(listeners.addresses)
        // Not a child task, because canceling this one must leave open requests some time.
        let serving = Task { await Self.serve(accepted, context) }
        await withTaskCancellationHandler {
            await serving.value
        } onCancel: {
            listeners.close()
            continuation.finish()
            context.activity.stop()
        }
        await listeners.waitUntilClosed()
    }

    private static func serve(_ accepted: AsyncStream<MessageStream>, _ context: ProxyContext) async {
        await withDiscardingTaskGroup { clients in
            for await stream in accepted {
                clients.addTask(executorPreference: EventLoopTaskExecutor(stream.channel.eventLoop)) {
                    await ClientConnection(stream, context).serve()
                }
            }
            await withTaskGroup { ending in
                ending.addTask {
                    // Canceled when the last connection has closed.
                    try? await Task.sleep(for: context.limits.gracePeriod)
                    context.activity.closeAll()
                }
                // Tunnels have no task.
                await context.activity.waitUntilEmpty()
                ending.cancelAll()
            }
        }
    }
}
