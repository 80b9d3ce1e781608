import Testing

@testable import SSOAgent

/// How changes wake the keeper through its inbox.
@Suite struct KeeperInboxTests {
    @Test func `many changes wake the keeper once until its inbox is emptied`() async {
        let inbox = KeeperInbox()
        inbox.put { $0.isPoked = true }
        var rings = inbox.rings.makeAsyncIterator()
        #expect(await rings.next() != nil)
        // The keeper has been woken and has not emptied the inbox yet.
        for _ in 0..<1000 { inbox.put { $0.isPoked = true } }
        inbox.put { $0.hasNetworkChanged = true }
        let contents = inbox.take()
        #expect(contents.isPoked && contents.hasNetworkChanged)
        // If it had rung again, the ring would precede the end of the stream.
        let next = Task { await inbox.rings.first { _ in true } }
        next.cancel()
        #expect(await next.value == nil)
    }

    @Test func `a look at the caches is requested once until it begins`() async {
        let inbox = KeeperInbox()
        for _ in 0..<1000 { inbox.wantLook() }
        #expect(inbox.take().isPoked)
        inbox.wantLook()
        #expect(!inbox.take().isPoked, "the requested look has not begun")
        inbox.willLook()
        inbox.wantLook()
        #expect(inbox.take().isPoked)
    }

    @Test func `a change after the inbox was emptied wakes the keeper again`() async {
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
