import NIOCore
import NIOPosix
import Subprocess
import Testing

@testable import NegotiateProxy

/// Runs curl without proxy variables, and returns what it prints.
///
/// - Parameter user: The user to run it as, if not this one.
func curl(_ arguments: [String], user: String? = nil) async throws -> String {
    let words = ["curl", "-sS", "--max-time", "120"] + arguments
    let command = user.map { ["setpriv", "--reuid=\($0)", "--regid=nogroup", "--clear-groups"] + words } ?? words
    let result = try await Subprocess.run(
        .name(command[0]),
        arguments: Arguments(Array(command.dropFirst())),
        environment: .custom(["PATH": "/usr/bin:/bin:/usr/sbin", "no_proxy": ""]),
        output: .string(limit: 1 << 22),
        error: .string(limit: 1 << 20)
    )
    return result.standardOutput + result.standardError
}

/// A connection of this process, and the kernel's names of its ends.
func connectedNames(port: Int) async throws -> (client: (channel: any Channel, names: [TCPSocketName]), remote: TCPSocketName) {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(host: "127.0.0.1", port: port).get()
    let local = try #require(channel.localAddress.flatMap { TCPSocketName($0) })
    let remote = try #require(channel.remoteAddress.flatMap { TCPSocketName($0) })
    return ((channel, [local]), remote)
}
