internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The kernel's table of TCP sockets: asked for one connection by sock_diag(7), or read from /proc/net if that is not available.
enum TCPSocketTable {
    /// ESTABLISHED, and FIN_WAIT1 and FIN_WAIT2 of a client that has ended only its sending direction.
    static let connected: Set<UInt8> = [1, 4, 5]

    /// The owner of the local socket that is connected from one name to another; nil if there is none.
    ///
    /// A socket that its process has closed belongs to no user, although the tables print 0 for it, and does not count.
    static func userID(from client: TCPSocketName, to server: TCPSocketName) -> UInt32? {
        switch SocketDiagnosis.look(from: client, to: server) {
        case .found(let user): user
        case .absent: nil
        case .unavailable: ProcessFileTable.userID(from: client, to: server)
        }
    }

    /// The owner of the socket that listens at an address, or at all addresses with that port; nil if there is none.
    static func listenerUserID(at server: TCPSocketName) -> UInt32? { ProcessFileTable.listenerUserID(at: server) }
}

/// A request to the kernel about one connection (sock_diag(7)).
enum SocketDiagnosis {
    enum Answer: Sendable, Hashable {
        case found(UInt32)
        case absent
        /// The kernel or a sandbox does not answer such requests.
        case unavailable
    }

    private static let sockDiag: Int32 = 4
    private static let byFamily: UInt16 = 20

    static func look(from client: TCPSocketName, to server: TCPSocketName) -> Answer {
        guard let reply = Netlink.reply(to: request(from: client, to: server), type: byFamily, family: sockDiag) else {
            return .unavailable
        }
        return answer(reply, client, server)
    }

    /// `struct inet_diag_req_v2` of linux/inet_diag.h.
    private static func request(from client: TCPSocketName, to server: TCPSocketName) -> [UInt8] {
        var body: [UInt8] = [UInt8(client.address.count == 4 ? AF_INET : AF_INET6), UInt8(IPPROTO_TCP), 0, 0]
        // All states.
        body += [0xFF, 0xFF, 0xFF, 0xFF]
        body += identity(client, server)
        // No cookie.
        return body + [UInt8](repeating: 0xFF, count: 8)
    }

    /// `struct inet_diag_sockid` up to the cookie: ports, addresses and the interface.
    private static func identity(_ client: TCPSocketName, _ server: TCPSocketName) -> [UInt8] {
        var bytes: [UInt8] = []
        for port in [client.port, server.port] { bytes += [UInt8(port >> 8), UInt8(port & 0xFF)] }
        for address in [client.address, server.address] { bytes += address + [UInt8](repeating: 0, count: 16 - address.count) }
        return bytes + [0, 0, 0, 0]
    }

    /// Reads `struct inet_diag_msg`. The kernel may answer with a listening socket instead of a connection.
    static func answer(_ reply: [UInt8], _ client: TCPSocketName, _ server: TCPSocketName) -> Answer {
        if let code = Netlink.errorCode(of: reply) { return code == ENOENT ? .absent : .unavailable }
        guard Netlink.type(of: reply) == byFamily, reply.count >= 16 + 72 else { return .unavailable }
        let ports = reply[20..<24]
        guard TCPSocketTable.connected.contains(reply[17]), ports.elementsEqual(identity(client, server).prefix(4)) else { return .absent }
        let (user, inode) = (reply.hostInteger(at: 16 + 64), reply.hostInteger(at: 16 + 68))
        return inode == 0 ? .absent : .found(user)
    }
}

/// The tables /proc/net/tcp and /proc/net/tcp6 (proc(5)).
enum ProcessFileTable {
    static func userID(from client: TCPSocketName, to server: TCPSocketName) -> UInt32? {
        for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
            guard let text = contents(of: path) else { continue }
            if let user = userID(in: text, from: client, to: server) { return user }
        }
        return nil
    }

    static func listenerUserID(at server: TCPSocketName) -> UInt32? {
        let text = ["/proc/net/tcp", "/proc/net/tcp6"].compactMap(contents).joined(separator: "\n")
        return listenerUserID(in: text, at: server)
    }

    /// Finds a listening socket in the text of a table. The kernel prefers the one with the address itself.
    static func listenerUserID(in text: String, at server: TCPSocketName) -> UInt32? {
        var found: UInt32?
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count > 9, words[3] == "0A", let name = TCPSocketName(table: words[1]), name.port == server.port else { continue }
            if name == server { return UInt32(words[7]) }
            if name.address.allSatisfy({ $0 == 0 }) { found = UInt32(words[7]) }
        }
        return found
    }

    /// Finds a connection in the text of a table.
    static func userID(in text: String, from client: TCPSocketName, to server: TCPSocketName) -> UInt32? {
        for line in text.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count > 9, let state = UInt8(words[3], radix: 16),
                TCPSocketTable.connected.contains(state), words[9] != "0", TCPSocketName(table: words[1]) == client,
                TCPSocketName(table: words[2]) == server
            else { continue }
            return UInt32(words[7])
        }
        return nil
    }

    /// Reads a whole file of /proc, which has no size.
    private static func contents(of path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension TCPSocketName {
    /// Parses `0100007F:1F90`: words of the address in the machine's byte order, and the port.
    init?(table text: Substring) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16), [8, 32].contains(parts[0].count) else { return nil }
        var address: [UInt8] = []
        var rest = parts[0]
        while !rest.isEmpty {
            guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
            address += word.hostBytes
            rest = rest.dropFirst(8)
        }
        let isMapped = address.count == 16 && address.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        self.init(address: isMapped ? Array(address.suffix(4)) : address, port: port)
    }
}
