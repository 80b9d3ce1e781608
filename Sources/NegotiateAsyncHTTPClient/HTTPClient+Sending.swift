import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP2

extension HTTPClient {
    /// Sends a request once. The deadline of the whole call cancels the task; none is needed beneath.
    ///
    /// Throws ``ConnectionChange`` when it is to go over another connection, `CancellationError`, or else `HTTPTransportError`.
    ///
    /// - Parameter isRepeatable: Whether it does no harm if the server gets it twice.
    func send(_ request: HTTPClientRequest, isRepeatable: Bool, to origin: Origin) async throws -> HTTPClientResponse {
        do {
            return try await execute(request, deadline: .distantFuture)
        } catch let error as CancellationError {
            throw error
        } catch let change as ConnectionChange {
            throw change
        } catch let error as UnansweredRequest {
            throw isRepeatable ? ConnectionChange.connection : HTTPTransportError(error.cause, origin: origin)
        } catch let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .http11Required {
            throw ConnectionChange.protocolVersion
        } catch {
            throw HTTPTransportError(error, origin: origin)
        }
    }
}
