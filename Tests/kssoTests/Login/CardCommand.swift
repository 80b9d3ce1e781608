/// A command APDU (ISO/IEC 7816-4 section 5.1), with short or extended lengths.
struct CardCommand {
    let `class`: UInt8
    let instruction: UInt8
    /// P1 and P2.
    let parameters: UInt16
    var data: [UInt8]
    /// The greatest length of the response's data; zero if the command wants none.
    let expected: Int

    /// Reads a command; nil if its length is not what it says.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 4 else { return nil }
        (`class`, instruction, parameters) = (bytes[0], bytes[1], UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        var body = bytes.dropFirst(4)
        let isExtended = body.count >= 3 && body.first == 0
        if isExtended { body.removeFirst() }
        let width = isExtended ? 2 : 1
        func number() -> Int {
            defer { body.removeFirst(width) }
            return body.prefix(width).reduce(0) { $0 << 8 | Int($1) }
        }
        data = []
        if body.count > width {
            let length = number()
            guard body.count == length || body.count == length + width else { return nil }
            data = Array(body.prefix(length))
            body.removeFirst(length)
        }
        guard body.count == width else {
            expected = 0
            return
        }
        let length = number()
        expected = length == 0 ? 1 << (8 * width) : length
    }
}

/// The status word of a response APDU (ISO/IEC 7816-4 section 5.6).
struct CardStatus: Error {
    static let done = CardStatus(0x9000)
    static let wrongLength = CardStatus(0x6700)
    static let unsatisfiedSecurity = CardStatus(0x6982)
    static let locked = CardStatus(0x6983)
    static let unsatisfied = CardStatus(0x6985)
    static let wrongData = CardStatus(0x6A80)
    static let notFound = CardStatus(0x6A82)
    static let unknownReference = CardStatus(0x6A88)
    static let unknownInstruction = CardStatus(0x6D00)
    static let failed = CardStatus(0x6F00)
    static let unknownClass = CardStatus(0x6E00)

    let bytes: [UInt8]

    init(_ word: UInt16) { bytes = [UInt8(word >> 8), UInt8(word & 0xFF)] }

    /// A refused PIN, and how many more the card takes.
    static func tries(_ number: Int) -> CardStatus { CardStatus(0x63C0 | UInt16(number)) }
}

/// A data object in BER-TLV (ISO/IEC 7816-4 section 6.3).
struct PIVObject {
    let tag: [UInt8]
    let value: [UInt8]

    init(_ tag: [UInt8], _ value: [UInt8]) { (self.tag, self.value) = (tag, value) }

    var bytes: [UInt8] {
        let count = value.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            }
        return tag + length + value
    }

    /// Reads a sequence of objects with tags of one byte, up to the first that is incomplete.
    static func read(_ bytes: [UInt8]) -> [PIVObject] {
        var objects: [PIVObject] = []
        var rest = bytes[...]
        while let tag = rest.popFirst(), let first = rest.popFirst() {
            var length = Int(first)
            if first >= 0x80 {
                guard first <= 0x82 else { break }
                let digits = rest.prefix(length - 0x80)
                rest = rest.dropFirst(digits.count)
                length = digits.reduce(0) { $0 << 8 | Int($1) }
            }
            guard rest.count >= length else { break }
            objects.append(PIVObject([tag], Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
        return objects
    }
}
