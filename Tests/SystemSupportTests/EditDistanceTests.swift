import SystemSupport
import Testing

/// The distance of two words, with which misspelled words are recognized.
@Suite struct EditDistanceTests {
    @Test(arguments: [("stauts", "status", 1), ("rnu", "run", 1), ("", "ab", 2), ("check", "check", 0), ("kitten", "sitting", 3)])
    func `the distance of two words counts swapped neighbors once`(word: String, other: String, distance: Int) {
        #expect(word.editDistance(to: other, tolerance: 3) == distance)
    }

    @Test(
        arguments: [("stauts", "status"), ("statsu", "status"), ("rn", "run"), ("rx", nil), ("n", nil), ("fish", nil)]
            as [(String, String?)]
    )
    func `the nearest word differs in at most one of three letters, or one of two`(word: String, nearest: String?) {
        #expect(word.nearest(among: ["run", "status", "state"], name: \.self) == nearest)
    }

    @Test func `words of very different lengths have no distance`() {
        #expect("a".editDistance(to: "abcd", tolerance: 2) == nil)
    }
}
