import Foundation
import Testing

@testable import TLSChannelBinding

/// A certificate in `Fixtures`, created by `make-certificates` there, with its expected properties.
struct Certificate: Decodable, Sendable, CustomTestStringConvertible {
    /// The file's name without `.der`.
    let name: String
    /// openssl's name of the signature algorithm.
    let algorithm: String
    /// openssl's name of the hash function of the bindings; nil if the certificate has none.
    let hash: String?
    /// The output of `openssl dgst` with that function, in hexadecimal digits.
    let digest: String?

    var testDescription: String { name }

    static func all() throws -> [Certificate] {
        try JSONDecoder().decode([Certificate].self, from: Data(contentsOf: folder().appending(path: "certificates.json")))
    }

    static func named(_ name: String) throws -> Certificate {
        try #require(all().first { $0.name == name })
    }

    func path() throws -> String { try Self.folder().appending(path: "\(name).der").path }

    func bytes() throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path()))) }

    private static func folder() throws -> URL {
        try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
    }
}

/// The result for a certificate: its bindings or the error.
func outcome(of der: [UInt8]) -> Result<TLSServerEndPoint, TLSServerEndPointError> {
    Result { () throws(TLSServerEndPointError) in try TLSServerEndPoint(certificate: der) }
}

extension Result<TLSServerEndPoint, TLSServerEndPointError> {
    /// The error's code, or nil.
    var code: TLSServerEndPointError.Code? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }

    /// The error's message, or nil.
    var message: String? {
        guard case .failure(let error) = self else { return nil }
        return error.message
    }

    /// The bytes after the prefix, in hexadecimal digits, or nil.
    var digest: String? {
        let prefix = Array("tls-server-end-point:".utf8)
        guard case .success(let bindings) = self, bindings.applicationData.starts(with: prefix) else { return nil }
        return bindings.applicationData.dropFirst(prefix.count).map { String(format: "%02x", $0) }.joined()
    }
}
