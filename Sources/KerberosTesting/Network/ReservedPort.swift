import Foundation

/// A port number reserved for this process at a local address, for both UDP and TCP, open or closed.
///
/// Two sockets hold the number until the end. The TCP socket is bound but never listens, so that connections are reset unless another
/// socket listens there. The UDP socket refuses datagrams while it is connected to itself, as it is at first, because it then has no other
/// peer.
final class ReservedPort: Sendable {
    let number: Int
    let address: ListeningAddress
    private let stream: Int32
    private let datagrams: Int32

    /// Lets the kernel choose a TCP port, and retries if the UDP port with that number is in use.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if the address is not an address of this machine.
    init(at address: ListeningAddress) throws {
        for _ in 0..<100 {
            let stream = try Self.newSocket(SOCK_STREAM)
            let datagrams = try Self.newSocket(SOCK_DGRAM)
            var chosen = sockaddr_in(host: address.raw, port: 0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            var isHere = chosen.lent(to: { bind(stream, $0, $1) }) == 0 || errno != EADDRNOTAVAIL
            if chosen.filled(by: { getsockname(stream, $0, &length) }) == 0, chosen.sin_port != 0,
                chosen.lent(to: { bind(datagrams, $0, $1) }) == 0
            {
                // A network's broadcast address can be bound, but no socket can connect to it.
                isHere = chosen.lent(to: { connect(datagrams, $0, $1) }) == 0
                if isHere {
                    // Set only after binding, because the kernel may choose a number that is in use for a socket with this option.
                    Self.setShares(true, stream)
                    (self.stream, self.datagrams, self.address) = (stream, datagrams, address)
                    number = Int(UInt16(bigEndian: chosen.sin_port))
                    return
                }
            }
            close(stream)
            close(datagrams)
            guard isHere else {
                let message = "This machine has no address \(address.text) to listen at; `ip address` lists its addresses."
                throw KerberosTestingError(.invalidArgument, message)
            }
        }
        throw KerberosTestingError(.serverNotReady, "No port is free for both UDP and TCP on \(address.text).")
    }

    deinit {
        close(stream)
        close(datagrams)
    }

    /// Returns another descriptor of the UDP socket; the caller must close it.
    func datagramDescriptor() throws -> Int32 {
        let descriptor = fcntl(datagrams, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw failure("copied") }
        return descriptor
    }

    /// Closes the UDP port, or opens it again.
    func setRefusesDatagrams(_ refuses: Bool) throws {
        var own = sockaddr_in(host: address.raw, port: number)
        if !refuses { own.sin_family = sa_family_t(AF_UNSPEC) }  // connect(2): this ends the association
        guard own.lent(to: { connect(datagrams, $0, $1) }) == 0 else { throw failure("opened or closed") }
    }

    /// Lets a program that sets `SO_REUSEADDR`, as krb5kdc does, bind the UDP port too; it receives the datagrams while this socket refuses
    /// them.
    ///
    /// Enable it only while that program starts, because the kernel could choose the number for any other program that sets the option.
    func setSharesDatagrams(_ shares: Bool) {
        Self.setShares(shares, datagrams)
    }

    private static func setShares(_ shares: Bool, _ descriptor: Int32) {
        var reuse: Int32 = shares ? 1 : 0
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func newSocket(_ type: __socket_type) throws -> Int32 {
        // Set on creation, because a program that is started meanwhile would inherit the socket.
        let descriptor = socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw KerberosTestingError(.serverNotReady, "A socket for a port could not be created: \(String(cString: strerror(errno))).")
        }
        return descriptor
    }

    private func failure(_ what: String) -> KerberosTestingError {
        KerberosTestingError(.serverNotReady, "The port \(number) could not be \(what): \(String(cString: strerror(errno))).")
    }
}

extension sockaddr_in {
    fileprivate init(host: in_addr, port: Int) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = UInt16(port).bigEndian
        sin_addr = host
    }

    fileprivate func lent(to call: (UnsafePointer<sockaddr>?, socklen_t) -> Int32) -> Int32 {
        withUnsafeBytes(of: self) { call($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) }
    }

    fileprivate mutating func filled(by call: (UnsafeMutablePointer<sockaddr>?) -> Int32) -> Int32 {
        withUnsafeMutableBytes(of: &self) { call($0.baseAddress?.assumingMemoryBound(to: sockaddr.self)) }
    }
}

/// The IPv4 address of this machine at which a server listens, and which its clients use.
package struct ListeningAddress: Sendable {
    /// The address in dotted decimal.
    let text: String
    let raw: in_addr

    /// Parses an address.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for anything but a unicast IPv4 address.
    package init(_ text: String) throws(KerberosTestingError) {
        var raw = in_addr()
        guard inet_pton(AF_INET, text, &raw) == 1, raw.s_addr != 0, UInt32(bigEndian: raw.s_addr) < 0xE000_0000 else {
            let message =
                "“\(text)” is not an address to listen at: pass one IPv4 address of this machine that clients can connect to, "
                + "such as 127.0.0.1 or "
                + "172.17.0.1; 0.0.0.0 is not allowed."
            throw KerberosTestingError(.invalidArgument, message)
        }
        (self.text, self.raw) = (text, raw)
    }

    /// Checks a host name for a server at an address.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if it is not a host name in lower case, as a service principal
    ///   requires, or if it is localhost and the address is not 127.0.0.1.
    package static func checkName(_ host: String, of address: String) throws(KerberosTestingError) {
        let isName =
            !host.isEmpty && host.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E }
            && host.utf8.contains { (0x61...0x7A).contains($0) }
        guard isName else {
            throw KerberosTestingError(
                .invalidArgument,
                "“\(host)” is not a host name: pass one in lower case, such as web.example.test, without address or port."
            )
        }
        guard host != "localhost" || address == "127.0.0.1" else {
            throw KerberosTestingError(
                .invalidArgument,
                "localhost is not \(address), where the realm listens: set the server's host to the name that clients use."
            )
        }
    }
}
