internal import Foundation
internal import Synchronization

/// The ranges of subordinate user numbers (subuid(5)): whose number it is, of those that a user may take in containers.
struct SubordinateUsers: Hashable, Sendable {
    /// A range, and the number that stands for its owner.
    private struct Range: Hashable {
        var numbers: ClosedRange<UInt32>
        var owner: UInt32
    }

    private var ranges: [Range] = []

    /// The file where ranges are granted.
    static let path = "/etc/subuid"

    /// No range.
    init() {}

    /// Reads the content of the file. A line that is none is skipped.
    ///
    /// - Parameter number: The number of a user's name, nil where no one has the name.
    init(_ text: String, number: (String) -> UInt32?) {
        for line in text.split(whereSeparator: \.isNewline) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 3, !fields[0].isEmpty, let start = UInt32(fields[1]), let count = UInt32(fields[2]), count > 0 else {
                continue
            }
            let end = start.addingReportingOverflow(count - 1)
            // What root runs in containers is not root: it has its own share.
            let owner = UInt32(fields[0]) ?? number(String(fields[0])) ?? 0
            ranges.append(Range(numbers: start...(end.overflow ? .max : end.partialValue), owner: owner == 0 ? start : owner))
        }
    }

    /// Reads the file of this machine; no range where there is none. It may wait for the servers that the names come from.
    init(path: String = SubordinateUsers.path) {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        self.init(text) { name in
            var (entry, result) = unsafe (passwd(), UnsafeMutablePointer<passwd>?.none)
            var buffer = [CChar](repeating: 0, count: 16 << 10)
            guard unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &result) == 0, unsafe result != nil else { return nil }
            return unsafe entry.pw_uid
        }
    }

    /// With whom a user is counted: the owner of the number, else the user.
    func owner(of user: UInt32) -> UInt32 {
        ranges.first { $0.numbers.contains(user) }?.owner ?? user
    }

    /// All that is known now, for a server that asks on its own thread.
    final class Current: Sendable {
        private let value = Mutex(SubordinateUsers())

        func owner(of user: UInt32) -> UInt32 { value.withLock { $0.owner(of: user) } }

        /// Takes another value; whether it differs.
        func replace(_ users: SubordinateUsers) -> Bool {
            value.withLock { value in
                defer { value = users }
                return value != users
            }
        }
    }
}
