import Foundation
import KerberosTesting

/// The network of another process (network_namespaces(7)), to which this process can connect.
struct NetworkNamespace {
    let path: String

    /// Switches the network's loopback interface on.
    init(path: String) async throws {
        self.path = path
        try await inside { descriptor in
            // struct ifreq of netdevice(7): the name in 16 bytes, then the flags.
            var request = [UInt8](repeating: 0, count: MemoryLayout<ifreq>.size)
            request.replaceSubrange(0..<2, with: "lo".utf8)
            request[Int(IFNAMSIZ)] = UInt8(IFF_UP)
            guard ioctl(descriptor, UInt(SIOCSIFFLAGS), &request) == 0 else { throw POSIXError(errno) }
            close(descriptor)
        }
    }

    /// Returns a socket that is connected to a port of the network's loopback address. The caller must close it.
    func connection(port: Int) async throws -> Int32 {
        try await inside { descriptor in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
            }
            guard status == 0 else { throw POSIXError(errno) }
            return descriptor
        }
    }

    /// Runs a closure with a new TCP socket of the network, on a thread that ends afterwards, because it stays in the network.
    private func inside<R: Sendable>(_ body: @escaping @Sendable (Int32) throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try enter()
                        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
                        guard descriptor >= 0 else { throw POSIXError(errno) }
                        do { return try body(descriptor) } catch {
                            close(descriptor)
                            throw error
                        }
                    }
                )
            }
        }
    }

    /// Moves the calling thread into the network with setns(2), which Swift's Glibc module lacks.
    private func enter() throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0, let symbol = dlsym(nil, "setns") else { throw POSIXError(errno) }
        defer { close(descriptor) }
        let setns = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let network: Int32 = 0x4000_0000  // CLONE_NEWNET
        guard setns(descriptor, network) == 0 else { throw POSIXError(errno) }
    }
}

extension POSIXError {
    fileprivate init(_ code: Int32) { self.init(POSIXErrorCode(rawValue: code) ?? .EIO) }
}
