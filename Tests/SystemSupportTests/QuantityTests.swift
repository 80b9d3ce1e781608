import Foundation
import SystemSupport
import Testing

/// Numbers with their nouns, and the time that is left.
@Suite struct QuantityTests {
    @Test(arguments: [(0, "0 tickets"), (1, "1 ticket"), (2, "2 tickets"), (-1, "-1 tickets")])
    func `a noun is in the plural unless its number is one`(number: Int, text: String) {
        #expect(quantity(number, "ticket") == text)
    }

    @Test func `an irregular plural is given`() {
        #expect(quantity(1, "entry", plural: "entries") == "1 entry")
        #expect(quantity(3, "entry", plural: "entries") == "3 entries")
    }

    @Test(
        arguments: [
            (0.5, nil), (-5, nil), (1, "1 s left"), (119.9, "119 s left"), (120, "2 min left"), (7_199, "119 min left"),
            (7_200, "2 h left"),
            (35_999, "9 h left"), (172_799, "47 h left"), (172_800, "2 d left"), (604_800, "7 d left"),
        ] as [(Double, String?)]
    )
    func `the time left is in one unit and rounded down`(seconds: Double, text: String?) {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        #expect(now.addingTimeInterval(seconds).timeLeft(now: now) == text)
    }

    @Test func `a date that has passed is shown without the time left`() {
        let past = Date(timeIntervalSince1970: 1_000_000_000)
        #expect(past.localTextWithTimeLeft == past.localText)
        let future = Date(timeIntervalSinceNow: 400_000_000)
        #expect(future.localTextWithTimeLeft == "\(future.localText) (4629 d left)")
    }
}
