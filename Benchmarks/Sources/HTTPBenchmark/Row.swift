/// One client of a comparison.
struct Row: Sendable {
    let name: String
    /// What stands in its URLs after the question mark, so that the server's log tells whose a request was.
    let tag: String
    /// Sends so many requests one after the other, checks each answer, and returns what they took without the start of a program.
    let run: @Sendable (_ count: Int) async throws -> Timing
}
