import Foundation
import KerberosTesting

/// The output of `ksso status --json`, decoded as a user's program would decode it.
struct StatusDocument: Decodable, Equatable {
    struct Session: Decodable, Equatable {
        let realm: String
        let principal: String
        let isDefault: Bool
        let signedIn: Bool
        let acquiredBy: String
        let cache: String
        let ticketExpires: Date
        let renewUntil: Date?
        let passwordExpires: Date?
        var accountProblem: String?
        var homeDirectory: String?
        let services: [Service]
    }

    struct Service: Decodable, Equatable {
        let service: String
        let expires: Date
    }

    let agent: Bool
    let cacheMode: String
    let sessions: [Session]

    init(json: String) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(Self.self, from: Data(json.utf8))
    }
}

extension Workstation {
    /// The decoded `ksso status --json`, whatever its exit status.
    func status() async throws -> StatusDocument {
        try StatusDocument(json: await ksso("status", "--json").output)
    }
}
