/// One client of a comparison.
struct Row: Sendable {
    let name: String
    /// The query of its URLs, which identifies the client of a request in the server's log.
    let tag: String
    /// Sends this many requests one after the other, checks each response, and returns their timing without the start of a program.
    let run: @Sendable (_ count: Int) async throws -> Timing
}
