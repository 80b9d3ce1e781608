/// Suggests the known key for a misspelled one.
enum Spelling {
    /// The maximum number of differing letters.
    static let tolerance = 2

    /// The key that `name` probably means, as a path from the payload; nil if none is similar.
    ///
    /// An exact name in another place has precedence over a name that differs only in case, and that over one with up to two wrong letters.
    static func suggestion(for name: String, in place: ProfileKey.Place) -> String? {
        let places: [ProfileKey.Place] =
            place == .envelope ? [.envelope] : place == .payload ? [.payload, .extensionData] : [.extensionData, .payload]
        let candidates = places.flatMap { candidate in ProfileKey.all.filter { $0.place == candidate } }
        let lower = name.lowercased()
        let match =
            candidates.first { $0.name == name }
            ?? candidates.first { $0.name.lowercased() == lower }
            ?? nearest(to: name, among: candidates)
        return match.map { describe($0, from: place) }
    }

    /// Whether two words differ only in case or in up to two letters.
    static func isClose(_ word: String, to other: String) -> Bool {
        word.lowercased() == other.lowercased() || (distance(word, other) ?? .max) <= tolerance
    }

    private static func nearest(to name: String, among candidates: [ProfileKey]) -> ProfileKey? {
        candidates
            .compactMap { candidate in distance(name, candidate.name).map { (candidate, $0) } }
            // Two wrong letters in a word of five are too many.
            .filter { $0.1 <= tolerance && $0.1 * 3 <= name.count }
            .min { $0.1 < $1.1 }?.0
    }

    private static func describe(_ key: ProfileKey, from place: ProfileKey.Place) -> String {
        switch (key.place, place) {
        case (.extensionData, .payload): "ExtensionData.\(key.name)"
        case (.payload, .extensionData): "\(key.name) next to ExtensionData"
        default: key.name
        }
    }

    /// The number of bytes to insert, delete, replace or swap with their neighbor; nil if the lengths differ by more than the tolerance.
    private static func distance(_ left: String, _ right: String) -> Int? {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard abs(left.count - right.count) <= tolerance else { return nil }
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var rows = [Array(0...right.count)]
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let replaced = rows[row - 1][column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var best = min(rows[row - 1][column] + 1, current[column - 1] + 1, replaced)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    best = min(best, rows[row - 2][column - 2] + 1)
                }
                current.append(best)
            }
            rows.append(current)
        }
        return rows[left.count][right.count]
    }
}
