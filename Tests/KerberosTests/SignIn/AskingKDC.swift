import Foundation

/// A KDC that answers every TCP request with a prompt of its own, a SAM-2 challenge: `TEXT OF THE KDC`, `PIN`.
final class AskingKDC: Sendable {
    let port: Int
    private let listener: Int32

    struct Failure: Error {}

    /// `KRB-ERROR` 25 of R.TEST with PA-ETYPE-INFO2 and PA-SAM-CHALLENGE-2.
    private static let answer = """
        7e81e73081e4a003020105a10302011ea411180f32303236313132313232313235385aa503020100a603020119a9081b06522e54455354aa1b3019a0\
        03020102a11230101b066b72627467741b06522e54455354ac819304819030818d3021a103020113a21a041830163014a003020112a10d1b0b522e54\
        455354616c6963653068a10302011ea261045f305da03c303aa003020102a10703050000000000a411040f54455854204f4620544845204b4443a506\
        0404596f7572a605040350494ea803020101a903020112a11d301b3019a003020101a112041078787878787878787878787878787878
        """

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 16) == 0 ? getsockname(listener, address, &length) : -1
            }
        }
        guard status == 0 else { throw Failure() }
        port = Int(in_port_t(bigEndian: address.sin_port))
        Thread.detachNewThread { [listener] in Self.serve(listener) }
    }

    /// Returns when the listener is shut down.
    private static func serve(_ listener: Int32) {
        let digits = Array(answer.utf8)
        let message = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        let reply = withUnsafeBytes(of: UInt32(message.count).bigEndian, Array.init) + message
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            var request = [UInt8](repeating: 0, count: 4096)
            _ = recv(connection, &request, request.count, 0)
            _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
            // Closing with unread bytes of the request would reset the connection and discard the reply.
            shutdown(connection, Int32(SHUT_WR))
            while recv(connection, &request, request.count, 0) > 0 {}
            close(connection)
        }
        close(listener)
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
