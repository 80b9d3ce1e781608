import Foundation
import SystemSupport
import Testing

/// How dates are shown to users.
@Suite struct DateDisplayTests {
    private static let cases: [(seconds: Double, zone: String, text: String)] = [
        (1_800_000_000, "UTC", "2027-01-15 08:00:00 +0000"), (1_800_000_000.9, "Europe/Berlin", "2027-01-15 09:00:00 +0100"),
        (1_815_000_000, "Europe/Berlin", "2027-07-08 00:40:00 +0200"), (1_800_000_000, "Asia/Kolkata", "2027-01-15 13:30:00 +0530"),
        (1_800_000_000, "America/St_Johns", "2027-01-15 04:30:00 -0330"), (0, "America/New_York", "1969-12-31 19:00:00 -0500"),
    ]

    @Test(arguments: cases) func `a date is shown in local time with its UTC offset`(
        _ example: (seconds: Double, zone: String, text: String)
    ) throws {
        let zone = try #require(TimeZone(identifier: example.zone))
        #expect(Date(timeIntervalSince1970: example.seconds).localText(in: zone) == example.text)
    }
}
