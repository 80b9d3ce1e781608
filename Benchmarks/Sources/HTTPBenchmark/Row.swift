/// One client of a comparison.
struct Row: Sendable {
    let name: String
    /// What stands in its URLs after the question mark, so that the server's log tells whose a request was.
    let tag: String
    /// Sends so many requests one after the other, checks each answer, and returns what they took without the start of a program.
    let run: @Sendable (_ count: Int) async throws -> Timing
}

extension [Double] {
    /// The middle one, so that one interruption does not decide.
    var median: Double { sorted()[count / 2] }
}

extension String {
    func padded(_ width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }
    func rightAligned(_ width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}
