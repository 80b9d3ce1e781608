/// The authentication on a bus with the EXTERNAL mechanism, in which the kernel confirms the user.
struct DBusAuthentication {
    private let user: UInt32
    private var line: [UInt8] = []
    /// Whether the bus has accepted the user.
    private(set) var isDone = false

    init(user: UInt32) { self.user = user }

    /// The first message of a connection. The argument is the user ID in decimal, each digit encoded in hexadecimal.
    var request: [UInt8] {
        let hex = Array(String(user).utf8).map { String($0, radix: 16) }.joined()
        return [0] + Array("AUTH EXTERNAL \(hex)\r\n".utf8)
    }

    /// Reads the reply, up to its last byte.
    ///
    /// - Returns: Whether the reply is complete.
    /// - Throws: `DBusError` if the bus rejects the user, or the reply is too long.
    mutating func read(_ bytes: inout ArraySlice<UInt8>) throws(DBusError) -> Bool {
        while let byte = bytes.popFirst() {
            line.append(byte)
            guard line.count <= 1024 else { throw .closed }
            guard byte == UInt8(ascii: "\n") else { continue }
            guard line.starts(with: "OK ".utf8) else { throw .refused }
            isDone = true
            return true
        }
        return false
    }
}
