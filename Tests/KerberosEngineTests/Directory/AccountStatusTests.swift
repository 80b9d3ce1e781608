import ActiveDirectory
import Foundation
import Testing

@testable import KerberosEngine

@Suite struct AccountStatusTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func status(read: Double, changed: Double?) -> AccountStatus {
        AccountStatus(
            read: Self.now.addingTimeInterval(read),
            passwordChanged: changed.map(Self.now.addingTimeInterval),
            passwordExpires: nil,
            passwordNeverExpires: false,
            problem: nil,
            homeDirectory: nil
        )
    }

    @Test(arguments: [
        // The directory was read 60 seconds after the change, and knows an older one.
        (60.0, -86_400.0, true), (60, nil, true),
        // It knows this one, with clocks that differ by some minutes.
        (60, 0, false), (60, -299, false), (60, 5000, false),
        // The replication time has passed.
        (899, -86_400, true), (900, -86_400, false),
        // The directory was read before the change.
        (-3600, -86_400, true),
    ])
    func `a directory that has not received a change is ignored`(read: Double, changed: Double?, precedes: Bool) {
        #expect(status(read: read, changed: changed).precedes(changeAt: Self.now, replicationTime: 900) == precedes)
    }

    @Test func `a directory is used if no change is known`() {
        #expect(!status(read: 0, changed: nil).precedes(changeAt: nil, replicationTime: 900))
    }

    @Test func `a mark is read as it was written`() {
        let status = AccountStatus(
            read: Self.now,
            passwordChanged: Self.now.addingTimeInterval(-10.25),
            passwordExpires: Self.now.addingTimeInterval(1000),
            passwordNeverExpires: false,
            problem: .locked,
            homeDirectory: #"\\files\alice "quoted" é"#
        )
        #expect(AccountStatus(text: status.text) == status)
    }

    @Test(arguments: ["", "{}", "[1]", #"{"read":"soon"}"#])
    func `a mark in another form is ignored`(text: String) {
        #expect(AccountStatus(text: text) == nil)
    }
}
