public import Foundation
internal import SystemSupport

extension ProfileValue {
    /// The maximum nesting of values. A profile needs six levels.
    static let maximumDepth = 32

    /// Parses an XML or binary property list.
    ///
    /// Throws a ``ProfileError`` with code `malformed` that contains the reason or the parser's message.
    public init(propertyList data: Data, source: String) throws(ProfileError) {
        let checked = data.starts(with: Array("bplist".utf8)) ? try Self.checkedBinary(data, source) : try Self.checkedXML(data, source)
        do {
            self = try PropertyListDecoder().decode(PropertyListValue.self, from: checked).value
        } catch {
            let reason = "This is not a property list that a profile can be read from (\(Self.detail(error))). Export the profile again."
            throw ProfileError(.malformed, source: source, reason: reason)
        }
    }

    /// A property list in XML that is safe to parse, in UTF-8.
    private static func checkedXML(_ data: Data, _ source: String) throws(ProfileError) -> Data {
        let reason: String
        guard let outline = XMLPropertyListOutline(data) else {
            reason = "This property list is not text in UTF-8 or UTF-16. Save it in UTF-8, or export the profile again."
            throw ProfileError(.malformed, source: source, reason: reason)
        }
        switch outline.fault {
        case nil: return outline.utf8
        case .notXML: reason = "This is not a property list: it does not begin with <. Export the profile again."
        case .tooDeep: reason = "The values of this property list are nested deeper than a profile needs. Export the profile again."
        case .unfinished: reason = "This is not a property list: it ends within a tag or a comment. Export the profile again."
        }
        throw ProfileError(.malformed, source: source, reason: reason)
    }

    /// A binary property list that is safe to parse.
    private static func checkedBinary(_ data: Data, _ source: String) throws(ProfileError) -> Data {
        if BinaryPropertyListOutline(data).isModest { return data }
        let reason = "This binary property list is damaged, or its lists contain one another. Export the profile again."
        throw ProfileError(.malformed, source: source, reason: reason)
    }

    /// The parser's message, which is in the underlying error if there is one. It quotes the file, so it is escaped and shortened.
    private static func detail(_ error: any Error) -> String {
        guard case DecodingError.dataCorrupted(let context) = error else { return error.localizedDescription.escapedForDisplay(limit: 200) }
        let underlying = (context.underlyingError as? NSError)?.userInfo["NSDebugDescription"] as? String
        return (underlying ?? context.debugDescription).escapedForDisplay(limit: 200)
    }
}

/// Decodes a value of any type by trying one type after the other. The decoder distinguishes Booleans from numbers; casts from `Any` do
/// not.
private struct PropertyListValue: Decodable {
    let value: ProfileValue

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count < ProfileValue.maximumDepth else {
            let context = DecodingError.Context(codingPath: [], debugDescription: "values are nested deeper than a profile needs")
            throw DecodingError.dataCorrupted(context)
        }
        if let container = try? decoder.container(keyedBy: Key.self) {
            var entries: [String: ProfileValue] = [:]
            for key in container.allKeys { entries[key.stringValue] = try container.decode(Self.self, forKey: key).value }
            value = .dictionary(entries)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [ProfileValue] = []
            while !container.isAtEnd { elements.append(try container.decode(Self.self).value) }
            value = .array(elements)
        } else {
            value = try Self.scalar(decoder.singleValueContainer())
        }
    }

    /// Integers are tried before reals: a real without a fraction is decoded as an integer.
    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> ProfileValue {
        if let text = try? container.decode(String.self) { return .string(text) }
        if let truth = try? container.decode(Bool.self) { return .boolean(truth) }
        if let data = try? container.decode(Data.self) { return .data(data) }
        if let date = try? container.decode(Date.self) { return .date(date) }
        if let number = try? container.decode(Int.self) { return .integer(number) }
        return .real(try container.decode(Double.self))
    }
}

/// The structure of a binary property list, parsed to determine how many values it expands to.
///
/// Objects refer to each other by number, so forty small arrays can expand to a trillion values, and an array can contain itself. They are
/// counted before the file is passed to a parser that creates all of them.
struct BinaryPropertyListOutline {
    private let bytes: [UInt8]
    private var offsetSize = 0
    private var referenceSize = 0
    private var count = 0
    private var root = 0
    private var table = 0

    /// The maximum number of values in a profile.
    private static let maximumValues = 20_000

    init(_ data: Data) { bytes = Array(data) }

    /// Whether the file expands to an acceptable number of values.
    var isModest: Bool {
        var copy = self
        guard copy.readTrailer() else { return false }
        var extents: [Extent?] = Array(repeating: nil, count: copy.count)
        return copy.extent(of: copy.root, depth: 0, extents: &extents) != nil
    }

    private mutating func readTrailer() -> Bool {
        guard bytes.count >= 40 else { return false }
        let trailer = bytes.count - 32
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard let count = number(at: trailer + 8, size: 8), let root = number(at: trailer + 16, size: 8),
            let table = number(at: trailer + 24, size: 8), (1...8).contains(offsetSize), (1...8).contains(referenceSize)
        else { return false }
        // Each object has an entry in the table, so a count beyond the file's size is invalid.
        guard count <= bytes.count, root < count, table < trailer, count * offsetSize <= trailer - table else { return false }
        (self.count, self.root, self.table) = (count, root, table)
        return true
    }

    /// What an object expands to.
    private struct Extent {
        /// The number of values, the object included.
        var size = 1
        /// The number of levels below the object.
        var height = 0
    }

    /// Returns what an object expands to; nil if there are too many values, if they are nested too deeply, or if the file is damaged.
    private func extent(of object: Int, depth: Int, extents: inout [Extent?]) -> Extent? {
        guard object < count, depth < ProfileValue.maximumDepth else { return nil }
        // An object that was reached before may now be deeper.
        if let known = extents[object] { return depth + known.height < ProfileValue.maximumDepth ? known : nil }
        guard let offset = number(at: table + object * offsetSize, size: offsetSize), offset < table else { return nil }
        let marker = bytes[offset]
        guard (0xA0...0xDF).contains(marker) else {
            extents[object] = Extent()
            return Extent()
        }
        guard let (first, length) = references(at: offset) else { return nil }
        let references = marker >= 0xD0 ? length * 2 : length
        guard references <= (table - first) / referenceSize else { return nil }
        var total = Extent()
        for index in 0..<references {
            guard let child = number(at: first + index * referenceSize, size: referenceSize),
                let extent = extent(of: child, depth: depth + 1, extents: &extents)
            else { return nil }
            total.size += extent.size
            total.height = max(total.height, extent.height + 1)
            guard total.size <= Self.maximumValues else { return nil }
        }
        extents[object] = total
        return total
    }

    /// The offset of a container's references and its number of elements, which is in the marker or in the integer after it.
    private func references(at offset: Int) -> (first: Int, length: Int)? {
        let short = Int(bytes[offset] & 0x0F)
        guard short == 0x0F else { return (offset + 1, short) }
        guard offset + 1 < table, bytes[offset + 1] & 0xF0 == 0x10, bytes[offset + 1] & 0x0F <= 3 else { return nil }
        let size = 1 << Int(bytes[offset + 1] & 0x0F)
        guard let length = number(at: offset + 2, size: size), offset + 2 + size <= table, length <= bytes.count else { return nil }
        return (offset + 2 + size, length)
    }

    /// A big-endian number; nil beyond the file's end, or if the number is too large for an offset.
    private func number(at offset: Int, size: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - size else { return nil }
        let value = bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value <= UInt64(Int32.max) ? Int(value) : nil
    }
}
