import Foundation
import TestSupport

@testable import KCM

/// One user's caches and their files, without a server; every call is one request.
struct Disk {
    let folder: String
    private(set) var account: UserAccount
    private var connection = ConnectionState()
    private let reportList = Recorded<ServerReport>()

    init(_ folder: String, limits: StoreLimits = StoreLimits(), now: UInt32 = 1500) throws {
        self.folder = folder
        let options = KCMServer.Options.forEveryone(storeLimits: limits, now: { now })
        account = try UserAccount(
            user: 1000,
            storage: UserStorage(OpenDirectory(folder)),
            options: options,
            use: TotalUsage(ServerTotals()),
            usage: OwnerUsage(owner: 1000),
            reports: ReportFilter(reportList.append)
        )
    }

    /// The reports that an administrator would see.
    var reports: [ServerReport] { reportList.all }

    @discardableResult mutating func send(_ operation: KCM.Operation, _ name: String? = nil, _ body: [UInt8] = []) -> ReplyCode {
        let request = Array(requestBytes(operation, name, body).dropFirst(4))
        while true {
            let reply = account.reply(to: request, connection: &connection)
            if !connection.isUnfinished { return reply?.code ?? ReplyCode(rawValue: .min) }
        }
    }

    /// Everything that a restart must restore.
    var state: [String] {
        let caches = account.store.caches.map { cache in
            "\(cache.name) \(cache.clockOffset) \(hex(Array(cache.principal.bytes))) "
                + cache.credentials.map { hex($0.bytes) }.joined(separator: " ")
        }
        return ["\(account.store.primary)"] + caches
    }

    /// The paths of the caches' files, in order.
    var files: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".ccache") }.sorted().map {
                "\(folder)/\($0)"
            }
        }
    }

    private func hex(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
