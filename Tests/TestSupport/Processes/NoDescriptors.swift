#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

/// Sets the limit of open descriptors to 256 and opens all of them. Only for an exit test, because the limit applies to the whole process.
public func takeAllDescriptors() -> [Int32] {
    var limit = rlimit()
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(kind, &limit) == 0 else { fatalError("the limit cannot be read") }
    limit.rlim_cur = 256
    guard setrlimit(kind, &limit) == 0 else { fatalError("the limit cannot be set") }
    var held: [Int32] = []
    while true {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return held }
        held.append(descriptor)
    }
}

/// Connects an existing socket to a path.
public func connect(_ client: Int32, to path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
    guard result == 0 else { fatalError("the socket cannot be connected") }
}
