internal import SystemSupport

/// Suggests the known key for a misspelled one.
enum Spelling {
    /// The key that `name` probably means, as a path from the payload; nil if none is similar.
    ///
    /// An exact name in another place has precedence over a name that differs only in case, and that over one with up to two wrong letters
    /// in any case.
    static func suggestion(for name: String, in place: ProfileKey.Place) -> String? {
        let places: [ProfileKey.Place] =
            place == .envelope ? [.envelope] : place == .payload ? [.payload, .extensionData] : [.extensionData, .payload]
        let candidates = places.flatMap { candidate in ProfileKey.all.filter { $0.place == candidate } }
        let lower = name.lowercased()
        let match =
            candidates.first { $0.name == name }
            ?? candidates.first { $0.name.lowercased() == lower }
            ?? lower.nearest(among: candidates) { $0.name.lowercased() }
        return match.map { describe($0, from: place) }
    }

    /// Whether two words differ only in case or in up to two letters.
    static func isClose(_ word: String, to other: String) -> Bool {
        let tolerance = String.spellingTolerance
        return word.lowercased() == other.lowercased() || (word.editDistance(to: other, tolerance: tolerance) ?? .max) <= tolerance
    }

    private static func describe(_ key: ProfileKey, from place: ProfileKey.Place) -> String {
        switch (key.place, place) {
        case (.extensionData, .payload): "ExtensionData.\(key.name)"
        case (.payload, .extensionData): "\(key.name) next to ExtensionData"
        default: key.name
        }
    }
}
