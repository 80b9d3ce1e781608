import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// The agent's table of unfinished Negotiate exchanges.
@Suite struct ExchangeTableTests {
    @Test func `an exchange can be taken once, and only by its own user`() {
        let table = ExchangeTable()
        let id = table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1)
        #expect(table.take(id, user: 2) == nil)
        #expect(table.take(id, user: 1) != nil)
        #expect(table.take(id, user: 1) == nil)
        #expect(table.take("", user: 1) == nil)
    }

    @Test func `an exchange expires after two minutes`() {
        let clock = ManualClock()
        let table = ExchangeTable { clock.instant }
        let (one, other) = (
            table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1),
            table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1)
        )
        clock.advance(by: 119)
        #expect(table.take(one, user: 1) != nil)
        clock.advance(by: 1)
        #expect(table.take(other, user: 1) == nil)
        _ = table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1)
        #expect(table.count == 1)
    }

    @Test func `a user with too many exchanges loses that user's oldest one`() {
        let table = ExchangeTable()
        let first = table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1)
        let anothers = table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 2)
        let ids = (0..<ExchangeTable.limit).map { _ in table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1) }
        #expect(table.take(first, user: 1) == nil)
        #expect(table.take(anothers, user: 2) != nil)
        #expect(ids.allSatisfy { table.take($0, user: 1) != nil })
        #expect(table.count == 0)
    }

    @Test func `the identifiers of exchanges are unique`() {
        let table = ExchangeTable()
        #expect(Set((0..<1000).map { _ in table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1) }).count == 1000)
    }

    @Test func `the exchanges of a principal that has signed out are removed`() {
        let table = ExchangeTable()
        let alices = table.insert(ScriptedExchange(), principal: "alice@A.TEST", user: 1)
        let bobs = table.insert(ScriptedExchange(), principal: "bob@A.TEST", user: 1)
        table.removeStale(signedIn: ["bob@A.TEST"])
        #expect(table.take(alices, user: 1) == nil)
        #expect(table.take(bobs, user: 1) != nil)
    }
}
