extension String {
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
