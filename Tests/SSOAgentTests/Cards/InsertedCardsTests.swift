import SmartCardReaders
import Testing

@testable import SSOAgent

/// What follows from the readers that the service reports.
struct InsertedCardsTests {
    private func reader(_ hasCard: Bool, changes: Int = 0, _ name: String = "A") -> SmartCardReader {
        SmartCardReader(name: name, hasCard: hasCard, changes: changes)
    }

    @Test func `a card is inserted once and removed once`() {
        var cards = InsertedCards()
        #expect(cards.observe([reader(false)]) == nil)
        #expect(cards.observe([reader(true, changes: 1)]) == .inserted)
        #expect(cards.observe([reader(true, changes: 1)]) == nil)
        #expect(cards.observe([reader(false, changes: 2)]) == .allRemoved)
        #expect(cards.observe([reader(false, changes: 2)]) == nil)
    }

    @Test func `a card that is there at the first look was inserted`() {
        var cards = InsertedCards()
        #expect(cards.observe([reader(true, changes: 7)]) == .inserted)
    }

    @Test func `a card that was removed and inserted between two looks was inserted`() {
        var cards = InsertedCards()
        _ = cards.observe([reader(true, changes: 1)])
        #expect(cards.observe([reader(true, changes: 3)]) == .inserted)
    }

    @Test func `the counts of a service that was restarted say nothing`() {
        var cards = InsertedCards()
        _ = cards.observe([reader(true, changes: 5)])
        cards.serviceEnded()
        #expect(cards.observe([reader(true, changes: 1)]) == nil)
        #expect(cards.observe([reader(true, changes: 3)]) == .inserted)
    }

    @Test func `a card in one of two readers remains when the other one is removed or detached`() {
        var cards = InsertedCards()
        #expect(cards.observe([reader(true), reader(false, "B")]) == .inserted)
        #expect(cards.observe([reader(true), reader(true, changes: 1, "B")]) == .inserted)
        #expect(cards.observe([reader(false, changes: 1), reader(true, changes: 1, "B")]) == nil)
        #expect(cards.observe([reader(true, changes: 1, "B")]) == nil)
        #expect(cards.observe([]) == .allRemoved)
    }
}
