import TestSupport
import Testing

@testable import Kerberos

/// The order in which the sign-ins of a process use smart cards.
struct CardTurnsTests {
    @Test func `each sign-in gets its turn when the one before has ended, in the order of the calls`() async throws {
        let turns = CardTurns(patience: .seconds(600))
        var turn: CardTurn? = try await turns.next(subject: "first")
        let order = Recorded<Int>()
        try await withThrowingTaskGroup { group in
            for number in 1...3 {
                group.addTask {
                    let own = try await turns.next(subject: "\(number)")
                    order.append(number)
                    withExtendedLifetime(own) {}
                }
                try await eventually { turns.waitingCount == number }
            }
            #expect(order.all.isEmpty && turn != nil)
            turn = nil
            try await group.waitForAll()
        }
        #expect(order.all == [1, 2, 3])
    }

    @Test func `a sign-in that waits too long is refused, and the next one is not delayed by it`() async throws {
        let turns = CardTurns(patience: .zero)
        var turn: CardTurn? = try await turns.next(subject: "alice")
        let error = await #expect(throws: KerberosError.self) { _ = try await turns.next(subject: "bob") }
        #expect(error?.code == .busy && error?.description.hasPrefix("bob: another sign-in uses a smart card") == true)
        #expect(turns.waitingCount == 0 && turn != nil)
        turn = nil
        _ = try await turns.next(subject: "carol")
    }

    @Test func `a sign-in with a deadline waits no longer than that`() async throws {
        let turns = CardTurns(patience: .seconds(600))
        let turn = try await turns.next(subject: "alice")
        let error = await #expect(throws: KerberosError.self) { _ = try await turns.next(subject: "bob", within: .zero) }
        #expect(error?.code == .busy)
        withExtendedLifetime(turn) {}
    }

    @Test func `a canceled sign-in gives up its place`() async throws {
        let turns = CardTurns(patience: .seconds(600))
        let turn = try await turns.next(subject: "alice")
        let waiting = Task { _ = try await turns.next(subject: "bob") }
        try await eventually { turns.waitingCount == 1 }
        waiting.cancel()
        let error = await #expect(throws: KerberosError.self) { try await waiting.value }
        #expect(error?.code == .canceled && turns.waitingCount == 0)
        withExtendedLifetime(turn) {}
    }

    /// The module of a card that hangs would otherwise end all sign-ins with cards until the program is restarted.
    @Test func `the turn of an abandoned call ends after a while`() async throws {
        let turns = CardTurns(patience: .seconds(600))
        let turn = try await turns.next(subject: "alice")
        async let next = turns.next(subject: "bob")
        try await eventually { turns.waitingCount == 1 }
        turn.endSoon(after: .zero)
        _ = try await next
        withExtendedLifetime(turn) {}
    }
}
