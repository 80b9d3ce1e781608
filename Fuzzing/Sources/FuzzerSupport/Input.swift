/// The bytes from libFuzzer, read from the front. Texts in them end with a record separator (0x1E), so that a corpus stays readable.
public struct Input {
    private var bytes: ArraySlice<UInt8>

    /// Copies the bytes, which are valid only during the call.
    public init(_ start: UnsafePointer<UInt8>?, _ count: Int) { bytes = ArraySlice(UnsafeBufferPointer(start: start, count: count)) }

    /// Whether all bytes were read.
    public var isEmpty: Bool { bytes.isEmpty }

    /// The next byte; 0 at the end.
    public mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

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

/// Ends the run with a finding if the condition is false. Unlike `precondition` it prints the message in an optimized build.
public func check(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
    if !isTrue { fatalError(problem()) }
}
