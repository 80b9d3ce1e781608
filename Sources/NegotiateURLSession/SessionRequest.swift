import Foundation
import FoundationNetworking
import HTTPNegotiate
import HTTPTypes
import SystemSupport

/// A request for URLSession, with its body, which may have to be sent more than once.
struct SessionRequest: NegotiableRequest {
    enum Body: Sendable {
        case none
        /// The request's own body, in memory.
        case data
        /// The request's own body, a stream that can be read only once.
        case stream
        case upload(Data)
        case file(URL)
    }

    /// The fields with which URLSession frames a body itself. A length in addition to a stream would give the server two possible ends.
    private static let framingFields = ["Content-Length", "Transfer-Encoding"]

    private(set) var request: URLRequest
    private(set) var body: Body

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - body: The body to send in place of the request's own; nil for the request's own.
    ///   - fields: The fields to send in addition to the request's own.
    init(_ request: URLRequest, body: Body? = nil, fields: [String: String] = [:]) {
        self.request = request
        self.body = request.httpBody != nil ? .data : request.httpBodyStream != nil ? .stream : .none
        if let body {
            removeBody()
            self.body = body
        }
        self.request.cachePolicy = .reloadIgnoringLocalCacheData
        self.request.url = request.url.flatMap(SessionRequest.withoutUserInformation)
        for (name, value) in fields where !hasField(name) { self.request.setValue(value, forHTTPHeaderField: name) }
        for name in SessionRequest.framingFields { removeField(name) }
    }

    var url: String {
        get { request.url?.absoluteString ?? "" }
        set { request.url = URL(string: newValue).flatMap(SessionRequest.withoutUserInformation) }
    }

    var methodName: String {
        get { request.httpMethod ?? "GET" }
        set { request.httpMethod = newValue }
    }

    var fields: HTTPFields {
        var fields = HTTPFields()
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    var isReplayable: Bool {
        if case .stream = body { false } else { true }
    }

    func hasField(_ name: String) -> Bool {
        request.allHTTPHeaderFields?.keys.contains { $0.lowercased() == name.lowercased() } ?? false
    }

    mutating func removeField(_ name: String) {
        request.allHTTPHeaderFields = request.allHTTPHeaderFields?.filter { $0.key.lowercased() != name.lowercased() }
    }

    mutating func replace(with fields: HTTPFields) {
        for field in fields { removeField(field.name.rawName) }
        for field in fields { request.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    }

    mutating func removeBody() {
        request.httpBody = nil
        request.httpBodyStream = nil
        body = .none
    }

    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {
        guard case .stream = body else { return }
        guard let data = try await request.readBodyStream(upTo: limit) else {
            let message =
                "\(origin) may ask for a ticket, which requires sending the body again, but the body is a stream of more than "
                + "\(limit) bytes. "
                + "Upload a file, or raise maximumReplayableBody."
            throw AuthorizationError(.bodyNotReplayable, message)
        }
        removeBody()
        request.httpBody = data
        body = .data
    }

    func makeTask(in session: URLSession) -> URLSessionTask {
        switch body {
        case .none, .data, .stream: session.dataTask(with: request)
        case .upload(let data): session.uploadTask(with: request, from: data)
        case .file(let url): session.uploadTask(with: request, fromFile: url)
        }
    }

    /// Removes the user name and the password, which URLSession would send as Basic credentials without a challenge.
    private static func withoutUserInformation(_ url: URL) -> URL? {
        guard url.user != nil || url.password != nil else { return url }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.user = nil
        components?.password = nil
        return components?.url
    }
}

extension SessionRequest {
    /// Throws an error for a request on which URLSession would hang, or fail only late.
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
            throw HTTPTransportError(.other, "\(url.path) cannot be sent: it is not a file, or it is not readable. Pass a readable file.")
        }
    }
}

extension URLRequest {
    /// Reads the body stream on a thread that may block; nil if it is longer than the limit.
    func readBodyStream(upTo limit: Int) async throws -> Data? {
        try await BlockingCall.run { Result { try readBodyStreamNow(upTo: limit) } }.get()
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
