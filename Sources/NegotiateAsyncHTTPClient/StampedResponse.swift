import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1

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
