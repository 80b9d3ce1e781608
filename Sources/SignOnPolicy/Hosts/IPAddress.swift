/// An IPv4 address in any spelling that `inet_aton` and the URL standard accept: `127.0.0.1`, `127.1`, `0x7f000001`, `017700000001`.
package struct IPv4Address: Sendable, Hashable, CustomStringConvertible {
    /// The address in host byte order.
    package let value: UInt32

    /// Parses one to four parts; the last one fills the remaining bytes.
    package init?(parts: [ArraySlice<UInt8>]) {
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

    package var description: String {
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

/// An IPv6 address, parsed as in RFC 3986 section 3.2.2 (without a zone) and printed as in RFC 5952.
package struct IPv6Address: Sendable, Hashable, CustomStringConvertible {
    /// The eight groups of 16 bits, in the order in which they are written.
    package let groups: [UInt16]

    /// Parses an address without brackets.
    package init?(_ text: some StringProtocol) {
        let colon = UInt8(ascii: ":")
        let bytes = Array(text.utf8)
        guard bytes.count <= 45 else { return nil }
        var fields = bytes.split(separator: colon, omittingEmptySubsequences: false)
        // "::" at an end yields one empty field too many; a single colon there is invalid.
        if bytes.starts(with: [colon, colon]) {
            fields.removeFirst()
        } else if fields.first?.isEmpty == true {
            return nil
        }
        if bytes.suffix(2) == [colon, colon] {
            if fields.count > 1 { fields.removeLast() }
        } else if fields.last?.isEmpty == true {
            return nil
        }
        var groups: [UInt16] = []
        var gap: Int?
        for (index, field) in fields.enumerated() {
            if field.isEmpty {
                guard gap == nil else { return nil }
                gap = groups.count
            } else if field.contains(UInt8(ascii: ".")) {
                guard index == fields.count - 1, let words = IPv6Address.words(fromIPv4: field) else { return nil }
                groups += words
            } else {
                guard field.count <= 4, let group = IPv6Address.group(field) else { return nil }
                groups.append(group)
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        guard groups.count == 8 else { return nil }
        self.groups = groups
    }

    package var description: String {
        guard let zeros = longestZeros() else { return words(groups[...]) }
        return words(groups[..<zeros.lowerBound]) + "::" + words(groups[zeros.upperBound...])
    }

    private func words(_ part: ArraySlice<UInt16>) -> String {
        part.map { String($0, radix: 16) }.joined(separator: ":")
    }

    /// The first of the longest runs of two or more zero groups.
    private func longestZeros() -> Range<Int>? {
        var best: Range<Int>?
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > max(best?.count ?? 0, 1) { best = start..<end }
            start = end + 1
        }
        return best
    }

    private static func group(_ field: ArraySlice<UInt8>) -> UInt16? {
        var value: UInt32 = 0
        for byte in field {
            guard let digit = byte.hexValue else { return nil }
            value = value << 4 | digit
        }
        return UInt16(value)
    }

    /// Parses an IPv4 address at the end of an IPv6 address, which allows only the strict dotted form.
    private static func words(fromIPv4 field: ArraySlice<UInt8>) -> [UInt16]? {
        let parts = field.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isStrict = parts.allSatisfy { part in
            (1...3).contains(part.count) && part.allSatisfy(\.isDigit) && (part.count == 1 || part.first != UInt8(ascii: "0"))
        }
        guard parts.count == 4, isStrict, let address = IPv4Address(parts: parts) else { return nil }
        return [UInt16(address.value >> 16), UInt16(address.value & 0xFFFF)]
    }
}
