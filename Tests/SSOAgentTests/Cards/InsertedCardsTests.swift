import SmartCardReaders
import Testing

@testable import SSOAgent

/// What follows from the readers that the service reports.
struct InsertedCardsTests {
    private func reader(_ hasCard: Bool, changes: Int = 0, _ name: String = "A") -> SmartCardReader {
        SmartCardReader(name: name, hasCard: hasCard, changes: changes)
    }

    @Test func `a card is inserted once, and stays until it is removed`() {
        var cards = InsertedCards()
        #expect(cards.observe([reader(false)]) == [])
        #expect(cards.observe([reader(true, changes: 1)]) == ["A"])
        #expect(cards.observe([reader(true, changes: 1)]) == [])
        #expect(cards.hasCard("A"))
        #expect(cards.observe([reader(false, changes: 2)]) == [])
        #expect(!cards.hasCard("A"))
        #expect(cards.observe([reader(false, changes: 2)]) == [])
    }

    @Test func `a card that is there at the first look was inserted`() {
        var cards = InsertedCards()
        #expect(cards.observe([reader(true, changes: 7)]) == ["A"])
    }

    @Test func `a card that was removed and inserted between two looks was inserted`() {
        var cards = InsertedCards()
        _ = cards.observe([reader(true, changes: 1)])
        #expect(cards.observe([reader(true, changes: 3)]) == ["A"])
    }

    @Test func `the counts of a service that was restarted say nothing`() {
        var cards = InsertedCards()
        _ = cards.observe([reader(true, changes: 5)])
        cards.serviceEnded()
        #expect(cards.observe([reader(true, changes: 1)]) == [])
        #expect(cards.observe([reader(true, changes: 3)]) == ["A"])
    }

    @Test func `each of two readers has its own card`() {
        var cards = InsertedCards()
        #expect(cards.observe([reader(true), reader(false, "B")]) == ["A"])
        #expect(cards.observe([reader(true), reader(true, changes: 1, "B")]) == ["B"])
        #expect(cards.observe([reader(false, changes: 1), reader(true, changes: 1, "B")]) == [])
        #expect(!cards.hasCard("A") && cards.hasCard("B"))
        #expect(cards.observe([]) == [])
        #expect(!cards.hasCard("B"), "a reader that is detached takes its card along")
    }

    @Test func `insertions cause no more than five sign-ins in five minutes`() {
        var limit = InsertionLimit()
        let start = ContinuousClock.now
        func permits(_ seconds: Int) -> Bool { limit.permits(at: start + .seconds(seconds)) }
        #expect((0..<5).allSatisfy { permits($0 * 10) })
        #expect(!permits(50) && !permits(299))
        #expect(permits(300) && !permits(301))
        #expect(permits(310))
    }
}
