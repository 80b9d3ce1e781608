import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import TLSChannelBinding

/// The connection of a response, and the channel bindings of its certificate.
///
/// AsyncHTTPClient exposes neither, so a handler on the connection writes them to a field of the response's head, which is removed before
/// the response is returned. The field is private to this process: a field of this name from a server is discarded.
struct ConnectionStamp: Sendable, Hashable {
    let connection: Int
    /// Nil without TLS, and for a certificate without bindings (RFC 5929 section 4.1).
    let channelBindings: [UInt8]?

    private static let fieldName = "Ksso-Connection-Stamp"
    private static let count = Atomic(0)

    /// Creates a stamp for a new connection.
    init(channelBindings: [UInt8]?) {
        connection = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        self.channelBindings = channelBindings
    }

    /// Removes the stamp from a response's head; nil if there is none.
    init?(takenFrom headers: inout HTTPHeaders) {
        guard let value = headers.first(name: Self.fieldName) else { return nil }
        headers.remove(name: Self.fieldName)
        let words = value.split(separator: " ")
        guard let connection = words.first.flatMap({ Int($0) }) else { return nil }
        self.connection = connection
        channelBindings = words.count > 1 ? Array(words[1].utf8).hexDecoded : nil
    }

    /// Adds the stamp to a response's head, in place of any that the server has sent.
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

    /// Decodes the output of ``hexEncoded``.
    fileprivate var hexDecoded: [UInt8] {
        func value(_ digit: UInt8) -> UInt8 { digit < UInt8(ascii: "a") ? digit - UInt8(ascii: "0") : digit - UInt8(ascii: "a") + 10 }
        return stride(from: 0, to: count - 1, by: 2).map { value(self[$0]) << 4 | value(self[$0 + 1]) }
    }
}

extension ConnectionStamp {
    /// Creates a stamp for a connection after the handshake. Call it on the connection's event loop.
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

/// A response, with the connection that it was received on.
struct StampedResponse: NegotiableResponse {
    var response: HTTPClientResponse
    /// The stamp; nil with an external client.
    let stamp: ConnectionStamp?

    /// Creates a response with the stamp of a ``ConnectionGuard``.
    init(stampedBy response: HTTPClientResponse) {
        var response = response
        stamp = ConnectionStamp(takenFrom: &response.headers)
        self.response = response
    }

    /// Creates a response of a client without stamps.
    init(_ response: HTTPClientResponse) {
        self.response = response
        stamp = nil
    }

    var statusCode: Int { Int(response.status.code) }
    var isMultiplexed: Bool { response.version.major >= 2 }
    var channelBindings: [UInt8]? { stamp?.channelBindings }

    func fieldValues(_ name: String) -> [String] { response.headers[name] }

    /// Reads and discards the body. If it is longer than 64 KiB, the connection is closed instead.
    func drain() async {
        var remaining = 65536
        do {
            for try await piece in response.body {
                remaining -= piece.readableBytes
                if remaining < 0 { return }
            }
        } catch {
            // The connection is lost, which the next request will notice, or the task is canceled.
        }
    }
}
