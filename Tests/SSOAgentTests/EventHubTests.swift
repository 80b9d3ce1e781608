import Foundation
import SSOAgentClient
import Testing

@testable import SSOAgent

/// How events are distributed to listeners.
@Suite struct EventHubTests {
    private let event = AgentEvent(.signedOut, realm: "A.TEST", principal: "alice@A.TEST", date: Date(timeIntervalSince1970: 0))

    @Test func `every listener gets each event`() async {
        let hub = EventHub()
        let (one, other) = (hub.events(), hub.events())
        hub.send(event)
        hub.close()
        for stream in [one, other] {
            var seen: [AgentEvent] = []
            for await event in stream { seen.append(event) }
            #expect(seen == [event])
        }
    }

    @Test func `a listener that is added after the hub was closed gets no events`() async {
        let hub = EventHub()
        hub.close()
        for await event in hub.events() { Issue.record("\(event)") }
        #expect(hub.listenerCount == 0)
    }

    @Test func `a listener whose stream is released is removed`() async {
        let hub = EventHub()
        do { _ = hub.events() }
        #expect(hub.listenerCount == 0)
    }
}
