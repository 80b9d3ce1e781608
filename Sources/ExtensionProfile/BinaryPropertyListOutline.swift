import Foundation

/// The skeleton of a binary property list, read to learn how large its values become.
///
/// Objects refer to one another by number, so forty small lists can stand for a million million values, and a list can hold itself.
/// This is counted before the file is given to a parser that builds them all.
struct BinaryPropertyListOutline {
    private let bytes: [UInt8]
    private var offsetSize = 0
    private var referenceSize = 0
    private var count = 0
    private var root = 0
    private var table = 0

    /// How many values a profile may come to.
    private static let maximumValues = 100_000

    init(_ data: Data) { bytes = Array(data) }

    /// Whether the file stands for a number of values that a profile may have.
    var isModest: Bool {
        var copy = self
        guard copy.readTrailer() else { return false }
        var sizes: [Int?] = Array(repeating: nil, count: copy.count)
        return copy.size(of: copy.root, depth: 0, sizes: &sizes) != nil
    }

    private mutating func readTrailer() -> Bool {
        guard bytes.count >= 40 else { return false }
        let trailer = bytes.count - 32
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard let count = number(at: trailer + 8, size: 8), let root = number(at: trailer + 16, size: 8),
            let table = number(at: trailer + 24, size: 8), (1...8).contains(offsetSize), (1...8).contains(referenceSize)
        else { return false }
        // Each object has an entry in the table, so a number beyond the file's size is a lie.
        guard count <= bytes.count, root < count, table < trailer, count * offsetSize <= trailer - table else { return false }
        (self.count, self.root, self.table) = (count, root, table)
        return true
    }

    /// The number of values that an object stands for; nil when they are too many, too deep, or the file is damaged.
    private func size(of object: Int, depth: Int, sizes: inout [Int?]) -> Int? {
        guard object < count, depth < ProfileValue.maximumDepth else { return nil }
        if let known = sizes[object] { return known }
        guard let offset = number(at: table + object * offsetSize, size: offsetSize), offset < table else { return nil }
        let marker = bytes[offset]
        guard (0xA0...0xDF).contains(marker) else {
            sizes[object] = 1
            return 1
        }
        guard let (first, length) = references(at: offset) else { return nil }
        let references = marker >= 0xD0 ? length * 2 : length
        guard references <= (table - first) / referenceSize else { return nil }
        var total = 1
        for index in 0..<references {
            guard let child = number(at: first + index * referenceSize, size: referenceSize),
                let size = size(of: child, depth: depth + 1, sizes: &sizes)
            else { return nil }
            total += size
            guard total <= Self.maximumValues else { return nil }
        }
        sizes[object] = total
        return total
    }

    /// Where a container's references begin and how many elements it has: in the marker, or in the integer that follows it.
    private func references(at offset: Int) -> (first: Int, length: Int)? {
        let short = Int(bytes[offset] & 0x0F)
        guard short == 0x0F else { return (offset + 1, short) }
        guard offset + 1 < table, bytes[offset + 1] & 0xF0 == 0x10, bytes[offset + 1] & 0x0F <= 3 else { return nil }
        let size = 1 << Int(bytes[offset + 1] & 0x0F)
        guard let length = number(at: offset + 2, size: size), offset + 2 + size <= table, length <= bytes.count else { return nil }
        return (offset + 2 + size, length)
    }

    /// A big-endian number; nil beyond the file's end, and for one so large that no offset can be.
    private func number(at offset: Int, size: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - size else { return nil }
        let value = bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value <= UInt64(Int32.max) ? Int(value) : nil
    }
}
