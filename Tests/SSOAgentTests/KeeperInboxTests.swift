import Testing

@testable import SSOAgent

@Suite struct KeeperInboxTests {
    @Test func `a storm of changes rings once until it is taken`() async {
        let inbox = KeeperInbox()
        inbox.put { $0.isPoked = true }
        var rings = inbox.rings.makeAsyncIterator()
        #expect(await rings.next() != nil)
        // The keeper is on its way.
        for _ in 0..<1000 { inbox.put { $0.isPoked = true } }
        inbox.put { $0.hasNetworkChanged = true }
        let contents = inbox.take()
        #expect(contents.isPoked && contents.hasNetworkChanged)
        // Had it rung since, the ring would come before the end.
        let next = Task { await inbox.rings.first { _ in true } }
        next.cancel()
        #expect(await next.value == nil)
    }

    @Test func `a look is asked for once until it begins`() async {
        let inbox = KeeperInbox()
        for _ in 0..<1000 { inbox.wantLook() }
        #expect(inbox.take().isPoked)
        inbox.wantLook()
        #expect(!inbox.take().isPoked, "it is still to come")
        inbox.willLook()
        inbox.wantLook()
        #expect(inbox.take().isPoked)
    }

    @Test func `what comes after a take rings again`() async {
        let inbox = KeeperInbox()
        var rings = inbox.rings.makeAsyncIterator()
        for _ in 0..<3 {
            inbox.put { $0.isPoked = true }
            #expect(await rings.next() != nil)
            #expect(inbox.take().isPoked)
            #expect(!inbox.take().isPoked)
        }
    }
}
