/// The bytes that libFuzzer hands over, taken from the front. Texts in them end at a record separator (0x1E), so that a corpus stays
/// readable.
public struct Input {
    private var bytes: ArraySlice<UInt8>

    /// Copies the bytes, which are the fuzzer's only for the time of the call.
    public init(_ start: UnsafePointer<UInt8>?, _ count: Int) { bytes = ArraySlice(UnsafeBufferPointer(start: start, count: count)) }

    /// Whether nothing is left.
    public var isEmpty: Bool { bytes.isEmpty }

    /// The next byte; 0 at the end.
    public mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    /// The next text, as bytes.
    public mutating func textBytes() -> [UInt8] {
        let end = bytes.firstIndex(of: 0x1E) ?? bytes.endIndex
        defer { bytes = bytes[end...].dropFirst() }
        return Array(bytes[..<end])
    }

    /// The next text; what is no UTF-8 is mended.
    public mutating func text() -> String { String(decoding: textBytes(), as: UTF8.self) }

    /// All texts that are left.
    public mutating func texts() -> [String] {
        var texts: [String] = []
        while !isEmpty { texts.append(text()) }
        return texts
    }
}

/// Ends the run with a finding. Unlike a precondition it says in an optimised build what is wrong.
public func check(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
    if !isTrue { fatalError(problem()) }
}
