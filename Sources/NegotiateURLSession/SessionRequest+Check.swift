import Foundation
import FoundationNetworking
import HTTPNegotiate

extension SessionRequest {
    /// Throws for what URLSession answers only by hanging, or late.
    func check() throws(HTTPTransportError) {
        if case .none = body { return }
        guard methodName != "GET" else {
            throw HTTPTransportError(.other, "URLSession sends no body with GET. Choose another method, or send no body.")
        }
        guard case .file(let url) = body else { return }
        let files = FileManager.default
        let attributes = try? files.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)
        guard attributes?[.type] as? FileAttributeType == .typeRegular, files.isReadableFile(atPath: url.path)
        else {
            throw HTTPTransportError(.other, "\(url.path) can't be sent: it is no file, or may not be read. Name a file.")
        }
    }
}

extension URLRequest {
    /// Reads the body that is a stream; nil if it is longer than the limit. A stream may block, so that a thread of Dispatch reads it.
    func readBodyStream(upTo limit: Int) async throws -> Data? {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try readBodyStreamNow(upTo: limit) }) }
        }
    }

    private func readBodyStreamNow(upTo limit: Int) throws -> Data? {
        guard let stream = httpBodyStream else { return Data() }
        stream.open()
        defer { stream.close() }
        var data = Data()
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe stream.read(&piece, maxLength: piece.count)
            guard count >= 0 else { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
            guard count > 0 else { return data }
            data.append(contentsOf: piece[..<count])
            if data.count > limit { return nil }
        }
    }
}
