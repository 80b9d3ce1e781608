import Testing

@testable import HTTPNegotiate

/// The scanner takes linear time. The tests count how often it reads a byte instead of using a clock: a second pass over an element is
/// fine, one for each byte of it is not.
struct ChallengeScannerCostTests {
    /// Twice the highest measured value. A pass for each byte would be thousands.
    private static let readsPerByte = 8

    @Test(arguments: [
        "Negotiate ", "Negotiate", "Negotiate x,", "Negotiate =,", "Basic realm=", "a=", "a=,", "a =", "a b,", "a b=c,", "A b==,", "x y z ",
        "\"", "\\", "\"\\", "\\\"", "a\"b", "a \"", "\"\",", "A realm=\"x\" ", "\"\u{1}", "=", ",", " ,", " ", "\t", "\u{1}", "é",
    ])
    func `the scanner reads each byte of a field only a few times`(_ piece: String) {
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
    func `the scanner reads each byte of a field of 128 KiB only a few times`(after start: String, _ piece: String) {
        let bytes = read(start + String(repeating: piece, count: 131_072 / piece.utf8.count))
        #expect(bytes.counter.reads >= bytes.count)
        #expect(bytes.counter.reads <= Self.readsPerByte * bytes.count)
    }

    @Test func `the scanner reads no further than the requested challenge`() {
        let bytes = CountingBytes(Array(("Negotiate Zm9v, NTLM, " + String(repeating: "a b=c,", count: 10_000)).utf8))
        var scanner = ChallengeScanner(bytes)
        for _ in 0..<3 { _ = scanner.next() }
        #expect(bytes.counter.reads <= Self.readsPerByte * "Negotiate Zm9v, NTLM, ".utf8.count)
    }

    /// Reads to the end, or until too many bytes have been read.
    private func read(_ field: String) -> CountingBytes {
        let bytes = CountingBytes(Array(field.utf8))
        var scanner = ChallengeScanner(bytes)
        while bytes.counter.reads <= Self.readsPerByte * bytes.count, scanner.next() != nil {}
        return bytes
    }
}

/// Bytes that count how often they are read.
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
