/// The bytes from libFuzzer, read from the front. Texts in them end with a record separator (0x1E), so that a corpus stays readable.
public struct Input {
    private var bytes: ArraySlice<UInt8>

    /// Copies the bytes, which are valid only during the call.
    public init(_ start: UnsafePointer<UInt8>?, _ count: Int) { bytes = ArraySlice(UnsafeBufferPointer(start: start, count: count)) }

    /// Whether all bytes were read.
    public var isEmpty: Bool { bytes.isEmpty }

    /// The next byte; 0 at the end.
    public mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    /// The kind of the input out of `count`, by its first byte: 0 for the digit 0, so that a corpus stays readable.
    public mutating func kind(of count: Int) -> Int { Int(byte() &- UInt8(ascii: "0")) % count }

    /// All remaining bytes.
    public mutating func rest() -> [UInt8] {
        defer { bytes = [] }
        return Array(bytes)
    }

    /// The next text, as bytes.
    public mutating func textBytes() -> [UInt8] {
        let end = bytes.firstIndex(of: 0x1E) ?? bytes.endIndex
        defer { bytes = bytes[end...].dropFirst() }
        return Array(bytes[..<end])
    }

    /// The next text; invalid UTF-8 is repaired.
    public mutating func text() -> String { String(decoding: textBytes(), as: UTF8.self) }

    /// The remaining texts.
    public mutating func texts() -> [String] {
        var texts: [String] = []
        while !isEmpty { texts.append(text()) }
        return texts
    }
}

/// Splits bytes into parts of equal length, as a connection might.
public func parts(of bytes: [UInt8], length: Int) -> [ArraySlice<UInt8>] {
    stride(from: 0, to: bytes.count, by: max(1, length)).map { bytes[$0..<min($0 + max(1, length), bytes.count)] }
}

/// Ends the run with a finding if the condition is false. Unlike `precondition` it prints the message in an optimized build.
public func check(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
    if !isTrue { fatalError(problem()) }
}
