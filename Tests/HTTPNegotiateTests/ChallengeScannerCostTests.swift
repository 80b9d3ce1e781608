import Testing

@testable import HTTPNegotiate

/// Linear time, without a clock: counts how often the scanner looks at a byte. A second pass over an element is fine, one for each byte of
/// it is not.
struct ChallengeScannerCostTests {
    /// Twice the worst that was seen. A pass for each byte would be thousands.
    private static let readsPerByte = 8

    @Test(arguments: [
        "Negotiate ", "Negotiate", "Negotiate x,", "Negotiate =,", "Basic realm=", "a=", "a=,", "a =", "a b,", "a b=c,", "A b==,", "x y z ",
        "\"", "\\", "\"\\", "\\\"", "a\"b", "a \"", "\"\",", "A realm=\"x\" ", "\"\u{1}", "=", ",", " ,", " ", "\t", "\u{1}", "é",
    ])
    func `reads a field a few times`(_ piece: String) {
        let text = String(repeating: piece, count: 8192 / piece.utf8.count)
        for field in [text, "Basic realm=\"" + text, "Negotiate " + text, "Negotiate a=b, " + text] {
            let bytes = read(field)
            #expect(bytes.counter.reads >= bytes.count)
            #expect(bytes.counter.reads <= Self.readsPerByte * bytes.count)
        }
    }

    @Test(
        arguments: zip(
            ["", "", "", "", "", "", "Basic realm=\""],
            ["\"", "\\", "\"\\", ",", "a=", "Negotiate x,", "x, Negotiate y, "]
        )
    )
    func `reads a long field a few times`(after start: String, _ piece: String) {
        let bytes = read(start + String(repeating: piece, count: 131_072 / piece.utf8.count))
        #expect(bytes.counter.reads >= bytes.count)
        #expect(bytes.counter.reads <= Self.readsPerByte * bytes.count)
    }

    /// What comes after the first Negotiate is not looked at.
    @Test func `reads no further than asked`() {
        let bytes = CountingBytes(Array(("Negotiate Zm9v, NTLM, " + String(repeating: "a b=c,", count: 10_000)).utf8))
        var scanner = ChallengeScanner(bytes)
        for _ in 0..<3 { _ = scanner.next() }
        #expect(bytes.counter.reads <= Self.readsPerByte * "Negotiate Zm9v, NTLM, ".utf8.count)
    }

    /// Reads to the end, or until it is plain that too much is read.
    private func read(_ field: String) -> CountingBytes {
        let bytes = CountingBytes(Array(field.utf8))
        var scanner = ChallengeScanner(bytes)
        while bytes.counter.reads <= Self.readsPerByte * bytes.count, scanner.next() != nil {}
        return bytes
    }
}

/// Bytes that know how often they were read.
private struct CountingBytes: RandomAccessCollection {
    final class Counter { var reads = 0 }

    let bytes: [UInt8]
    let counter = Counter()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }
    subscript(position: Int) -> UInt8 {
        counter.reads += 1
        return bytes[position]
    }
}
