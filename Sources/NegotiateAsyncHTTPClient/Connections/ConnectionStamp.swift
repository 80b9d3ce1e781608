import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import TLSChannelBinding

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

extension ConnectionStamp {
    /// A stamp for a connection whose handshake is done. On its event loop only.
    init(_ channel: any Channel) {
        self.init(channelBindings: Self.channelBindings(channel))
    }

    private static func channelBindings(_ channel: any Channel) -> [UInt8]? {
        guard let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self),
            let certificate = try? handler.peerCertificate?.toDERBytes()
        else { return nil }
        return try? TLSServerEndPoint(certificate: certificate).applicationData
    }
}

/// A response, and the connection that it came over.
struct StampedResponse: NegotiableResponse {
    var response: HTTPClientResponse
    /// Nil over a client that was made elsewhere.
    let stamp: ConnectionStamp?

    /// Takes the stamp that a ``ConnectionGuard`` left.
    init(stampedBy response: HTTPClientResponse) {
        var response = response
        stamp = ConnectionStamp(takenFrom: &response.headers)
        self.response = response
    }

    /// A response of a client that stamps nothing.
    init(_ response: HTTPClientResponse) {
        self.response = response
        stamp = nil
    }

    var statusCode: Int { Int(response.status.code) }
    var isMultiplexed: Bool { response.version.major >= 2 }
    var channelBindings: [UInt8]? { stamp?.channelBindings }

    func fieldValues(_ name: String) -> [String] { response.headers[name] }

    /// With more than 64 KiB the connection is closed instead.
    func drain() async {
        var remaining = 65536
        do {
            for try await piece in response.body {
                remaining -= piece.readableBytes
                if remaining < 0 { return }
            }
        } catch {
            // The connection is lost, which the next request finds out, or the task is cancelled.
        }
    }
}
