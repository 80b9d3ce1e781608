extension String {
    /// The maximum number of differing letters between a word and a misspelling of it.
    package static let spellingTolerance = 2

    /// The candidate whose name this word probably means; nil if none is similar. At most two letters may differ, and only one in each
    /// three, or one of two.
    package func nearest<Candidate>(among candidates: [Candidate], name: (Candidate) -> String) -> Candidate? {
        candidates
            .compactMap { candidate in
                editDistance(to: name(candidate), tolerance: Self.spellingTolerance).map { (candidate: candidate, distance: $0) }
            }
            .filter { $0.distance <= Self.spellingTolerance && $0.distance * 3 <= (count == 2 ? 3 : count) }
            .min { $0.distance < $1.distance }?.candidate
    }

    /// The number of bytes to insert, delete, replace or swap with their neighbor to get the other text; nil if the lengths differ by more
    /// than the tolerance, so that a long text costs nothing.
    package func editDistance(to other: String, tolerance: Int) -> Int? {
        let (left, right) = (Array(utf8), Array(other.utf8))
        guard abs(left.count - right.count) <= tolerance else { return nil }
        guard !left.isEmpty, !right.isEmpty else { return Swift.max(left.count, right.count) }
        var rows = [Array(0...right.count)]
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let replaced = rows[row - 1][column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var best = Swift.min(rows[row - 1][column] + 1, current[column - 1] + 1, replaced)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    best = Swift.min(best, rows[row - 2][column - 2] + 1)
                }
                current.append(best)
            }
            rows.append(current)
        }
        return rows[left.count][right.count]
    }
}
