import HTTPNegotiate
import NIOHTTP1
import Synchronization

/// Which connection a response came over, and the channel bindings of its certificate.
///
/// AsyncHTTPClient shows neither, so a handler on the connection writes them into a field of the response's head, which is taken out again
/// before the response is handed on. The field is this process's own: what a server sends under its name is thrown away.
struct ConnectionStamp: Sendable, Hashable {
    let connection: Int
    /// Nil without TLS, and for a certificate that has none (RFC 5929 section 4.1).
    let channelBindings: [UInt8]?

    private static let fieldName = "Ksso-Connection-Stamp"
    private static let count = Atomic(0)

    /// A stamp for a new connection.
    init(channelBindings: [UInt8]?) {
        connection = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        self.channelBindings = channelBindings
    }

    /// Takes the stamp out of a response's head; nil when there is none.
    init?(takenFrom headers: inout HTTPHeaders) {
        guard let value = headers.first(name: Self.fieldName) else { return nil }
        headers.remove(name: Self.fieldName)
        let words = value.split(separator: " ")
        guard let connection = words.first.flatMap({ Int($0) }) else { return nil }
        self.connection = connection
        channelBindings = words.count > 1 ? Array(words[1].utf8).hexDecoded : nil
    }

    /// Puts the stamp into a response's head, in the place of any that the server sent.
    func put(into headers: inout HTTPHeaders) {
        var value = String(connection)
        if let channelBindings { value += " " + channelBindings.hexEncoded }
        headers.replaceOrAdd(name: Self.fieldName, value: value)
    }
}

extension [UInt8] {
    private static let digits = Array("0123456789abcdef".utf8)

    fileprivate var hexEncoded: String {
        String(decoding: flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 0xF)]] }, as: UTF8.self)
    }

    /// Of what ``hexEncoded`` wrote.
    fileprivate var hexDecoded: [UInt8] {
        func value(_ digit: UInt8) -> UInt8 { digit < UInt8(ascii: "a") ? digit - UInt8(ascii: "0") : digit - UInt8(ascii: "a") + 10 }
        return stride(from: 0, to: count - 1, by: 2).map { value(self[$0]) << 4 | value(self[$0 + 1]) }
    }
}
