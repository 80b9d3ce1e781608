internal import struct Foundation.Data

/// Parses the event stream (HTML Living Standard, section 9.2), however its bytes are split.
struct AgentEventLines {
    /// The limit in bytes for a line; an event has a few hundred bytes.
    static let lineLimit = 65536

    /// The beginning of a line.
    private var pending: [UInt8] = []

    /// Reads bytes that have arrived, and delivers the events that they complete. Events of a later version that cannot be decoded are
    /// skipped.
    ///
    /// - Returns: False if a line is longer than the limit; the stream must be closed.
    mutating func read(_ bytes: some Collection<UInt8>, _ deliver: (AgentEvent) -> Void) -> Bool {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            pending += rest[..<end]
            rest = rest[rest.index(after: end)...]
            guard pending.count <= Self.lineLimit else { return false }
            if let event { deliver(event) }
            pending.removeAll(keepingCapacity: true)
        }
        guard pending.count + rest.count <= Self.lineLimit else { return false }
        pending += rest
        return true
    }

    /// The event in the line.
    private var event: AgentEvent? {
        let prefix = "data: "
        guard pending.starts(with: prefix.utf8) else { return nil }
        return try? AgentJSON.decode(AgentEvent.self, from: Data(pending.dropFirst(prefix.utf8.count)))
    }
}
