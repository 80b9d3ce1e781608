import Foundation

/// An IPv4 address of this machine at which a server listens and which its clients are told.
package struct ListeningAddress: Sendable {
    /// In dotted decimal.
    let text: String
    let raw: in_addr

    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for what is no address, and for those of many machines or of any.
    package init(_ text: String) throws(KerberosTestingError) {
        var raw = in_addr()
        guard inet_pton(AF_INET, text, &raw) == 1, raw.s_addr != 0, UInt32(bigEndian: raw.s_addr) < 0xE000_0000 else {
            let message =
                "“\(text)” is no address to listen at: give one IPv4 address of this machine that clients can be told, such as 127.0.0.1 or "
                + "172.17.0.1; 0.0.0.0 is none."
            throw KerberosTestingError(.invalidArgument, message)
        }
        (self.text, self.raw) = (text, raw)
    }

    /// Checks the name by which clients find a server at an address.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for what is no host name in lower case, which a service principal
    ///   could be named after, and for localhost where that leads elsewhere.
    package static func checkName(_ host: String, of address: String) throws(KerberosTestingError) {
        let isName =
            !host.isEmpty && host.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E }
            && host.utf8.contains { (0x61...0x7A).contains($0) }
        guard isName else {
            throw KerberosTestingError(
                .invalidArgument,
                "“\(host)” is no host name: give one in lower case, such as web.example.test; no address and no port."
            )
        }
        guard host != "localhost" || address == "127.0.0.1" else {
            throw KerberosTestingError(
                .invalidArgument,
                "localhost is not \(address), where the realm listens: give the server a host, the name by which clients find it."
            )
        }
    }
}
