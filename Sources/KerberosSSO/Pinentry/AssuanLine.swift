/// A line that a program sends in the Assuan protocol.
enum AssuanLine: Equatable {
    case done
    /// The error code of libgpg-error, without its source.
    case failed(code: UInt32)
    case data([UInt8])
    case inquiry
    /// A status line, a comment, or a line that this version does not know.
    case other

    init(_ line: [UInt8]) {
        let word = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line.dropFirst(word.count + 1)
        switch String(decoding: word, as: UTF8.self) {
        case "OK": self = .done
        case "D": self = .data(Self.unescaped(rest))
        case "INQUIRE": self = .inquiry
        case "ERR":
            let number = UInt32(String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
            self = .failed(code: (number ?? 0) & 0xFFFF)
        default: self = .other
        }
    }

    /// Whether the person canceled or did not answer: canceled, fully canceled, timeout, not confirmed.
    static func isRefusal(_ code: UInt32) -> Bool { [62, 99, 114, 198].contains(code) }

    /// A request as bytes, including the newline. Text beyond the limit is omitted.
    static func request(_ command: String, _ text: String, limit: Int) -> [UInt8] {
        var line = Array(command.utf8)
        if !text.isEmpty { line.append(UInt8(ascii: " ")) }
        for character in text {
            let part = character.utf8.flatMap { byte in
                byte == UInt8(ascii: "%") || byte < 0x20 || byte == 0x7F ? Array("%\(hexadecimal(byte))".utf8) : [byte]
            }
            guard line.count + part.count < limit else { break }
            line += part
        }
        return line + [UInt8(ascii: "\n")]
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return byte < 16 ? "0" + digits : digits
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = digit(rest.first), let low = digit(rest.dropFirst().first) {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(let byte) where (0x30...0x39).contains(byte): byte - 0x30
        case .some(let byte) where (0x41...0x46).contains(byte): byte - 0x37
        case .some(let byte) where (0x61...0x66).contains(byte): byte - 0x57
        default: nil
        }
    }
}
