internal import Foundation
internal import KerberosTesting

extension RealmTrust {
    /// A trust as people write it: `A.TEST -> B.TEST`, or `A.TEST <-> B.TEST` for both ways.
    init?(words: String) {
        for (arrow, isMutual) in [("<->", true), ("->", false)] {
            let ends = words.components(separatedBy: arrow).map { $0.trimmingCharacters(in: .whitespaces) }
            guard ends.count == 2 else { continue }
            guard ends.allSatisfy({ !$0.isEmpty }) else { return nil }
            self = isMutual ? .twoWay(ends[0], ends[1]) : .oneWay(from: ends[0], to: ends[1])
            return
        }
        return nil
    }
}
