/// Reads a DNS response (RFC 1035 section 4.1). The bytes are untrusted: nothing outside them is read, and every loop is bounded.
struct DNSMessageReader {
    static let nameServerType: UInt16 = 2
    static let serviceType: UInt16 = 33
    static let uriType: UInt16 = 256

    struct Answer {
        let type: UInt16
        let data: Range<Int>
    }

    private let bytes: [UInt8]
    private var position = 0
    private var answersLeft = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Skips the header and the questions; false if they are incomplete.
    mutating func skipHeader() -> Bool {
        guard bytes.count >= 12, let questions = number(at: 4), let answers = number(at: 6) else { return false }
        position = 12
        answersLeft = Int(answers)
        for _ in 0..<questions {
            guard let end = endOfName(at: position) else { return false }
            position = end + 4
        }
        return position <= bytes.count
    }

    /// Reads the next answer record; nil at the end, or if the record is malformed.
    mutating func nextAnswer() -> Answer? {
        guard answersLeft > 0, let start = endOfName(at: position), let type = number(at: start), let length = number(at: start + 8) else {
            return nil
        }
        answersLeft -= 1
        let data = start + 10..<start + 10 + Int(length)
        guard data.upperBound <= bytes.count else { return nil }
        position = data.upperBound
        return Answer(type: type, data: data)
    }

    /// Reads the data of an SRV record.
    func serviceRecord(in data: Range<Int>) -> ServiceRecord? {
        guard data.count > 6, let priority = number(at: data.lowerBound), let weight = number(at: data.lowerBound + 2),
            let port = number(at: data.lowerBound + 4), let labels = labels(at: data.lowerBound + 6)
        else { return nil }
        // A label that contains a dot is no part of a host's name, and would be read as two.
        guard !labels.contains(where: { $0.contains(".") }) else { return nil }
        return ServiceRecord(priority: priority, weight: weight, port: port, target: labels.joined(separator: "."))
    }

    /// Reads the data of a URI record (RFC 7553 section 4.5). Its target is not a DNS name: it extends to the end or a zero byte.
    func locationRecord(in data: Range<Int>) -> LocationRecord? {
        guard data.count > 4, let priority = number(at: data.lowerBound), let weight = number(at: data.lowerBound + 2) else { return nil }
        let target = String(decoding: bytes[data.dropFirst(4)].prefix { $0 != 0 }, as: UTF8.self)
        return LocationRecord(priority: priority, weight: weight, target: target)
    }

    private func number(at index: Int) -> UInt16? {
        guard index >= 0, index + 1 < bytes.count else { return nil }
        return UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
    }

    /// The index after a name in the message: after its last label, or after a pointer.
    func endOfName(at start: Int) -> Int? {
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case 0: return index + 1
            case 1...63: index += 1 + Int(bytes[index])
            case 192...255: return index + 2 <= bytes.count ? index + 2 : nil
            default: return nil
            }
        }
        return nil
    }

    /// The greatest length of a name (RFC 1035 section 2.3.4). Without it, a response in which each record points to one long name would
    /// expand to hundreds of times its size.
    private static let longestName = 255

    /// Reads a name; nil if it is incomplete or too long.
    func name(at start: Int) -> String? { labels(at: start)?.joined(separator: ".") }

    /// Reads the labels of a name and follows its pointers. Each pointer must lead backwards, so that the loop ends.
    private func labels(at start: Int) -> [String]? {
        var labels: [String] = []
        var index = start
        var limit = start
        // The root's label of one byte.
        var length = 1
        while index < bytes.count {
            switch bytes[index] {
            case 0: return labels
            case 1...63:
                let end = index + 1 + Int(bytes[index])
                length += end - index
                guard end <= bytes.count, length <= Self.longestName else { return nil }
                labels.append(String(decoding: bytes[index + 1..<end], as: UTF8.self))
                index = end
            case 192...255:
                guard let pointer = number(at: index), Int(pointer & 0x3FFF) < limit else { return nil }
                index = Int(pointer & 0x3FFF)
                limit = index
            default: return nil
            }
        }
        return nil
    }
}
