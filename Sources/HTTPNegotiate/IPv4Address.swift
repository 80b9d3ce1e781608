/// An IPv4 address in any spelling that `inet_aton` and the URL standard take: `127.0.0.1`, `127.1`, `0x7f000001`, `017700000001`.
struct IPv4Address: Sendable, Hashable, CustomStringConvertible {
    let value: UInt32

    /// Reads one to four parts; the last fills all the bytes that are left.
    init?(parts: [ArraySlice<UInt8>]) {
        guard (1...4).contains(parts.count) else { return nil }
        var numbers: [UInt64] = []
        for part in parts {
            guard let number = IPv4Address.number(part) else { return nil }
            numbers.append(number)
        }
        let last = numbers.removeLast()
        guard numbers.allSatisfy({ $0 <= 0xFF }), last < UInt64(1) << (8 * (4 - UInt64(numbers.count))) else { return nil }
        var value = last
        for (index, number) in numbers.enumerated() { value |= number << (8 * (3 - UInt64(index))) }
        self.value = UInt32(value)
    }

    /// Whether a label is all digits, or hexadecimal after `0x`.
    static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        label.allSatisfy(\.isDigit) || hexDigits(of: label)?.allSatisfy(\.isHexDigit) == true
    }

    var description: String {
        [24, 16, 8, 0].map { String((value >> UInt32($0)) & 0xFF) }.joined(separator: ".")
    }

    private static func hexDigits(of label: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard label.count >= 2, label.first == UInt8(ascii: "0"), label.dropFirst().first == UInt8(ascii: "x") else { return nil }
        return label.dropFirst(2)
    }

    private static func number(_ label: ArraySlice<UInt8>) -> UInt64? {
        let digits: ArraySlice<UInt8>
        let radix: UInt64
        if let hex = hexDigits(of: label) {
            (digits, radix) = (hex, 16)
        } else if label.count > 1, label.first == UInt8(ascii: "0") {
            (digits, radix) = (label.dropFirst(), 8)
        } else {
            (digits, radix) = (label, 10)
        }
        var value: UInt64 = 0
        for digit in digits {
            guard let part = digit.hexValue, part < radix else { return nil }
            value = value * radix + UInt64(part)
            guard value <= UInt64(UInt32.max) else { return nil }
        }
        return value
    }
}
