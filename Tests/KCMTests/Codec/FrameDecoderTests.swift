import Testing

@testable import KCM

/// How the decoder splits a stream of bytes into requests and enforces the length limit.
struct FrameDecoderTests {
    /// Two requests, of four and of six bytes.
    private let stream: [UInt8] = [0, 0, 0, 4, 2, 0, 0, 20, 0, 0, 0, 6, 2, 0, 0, 5, 65, 0]

    @Test(arguments: 1...18) func `requests are reassembled from fragments of any size`(size: Int) throws {
        var decoder = FrameDecoder()
        var frames: [FrameDecoder.Frame] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            decoder.append(stream[start..<min(start + size, stream.count)])
            while let frame = try decoder.next() { frames.append(frame) }
        }
        #expect(frames == [.request([2, 0, 0, 20]), .request([2, 0, 0, 5, 65, 0])])
        #expect(decoder.waitingBytes == 0)
    }

    @Test(arguments: 0..<18) func `an incomplete request yields no frame`(length: Int) throws {
        var decoder = FrameDecoder()
        decoder.append(stream.prefix(length))
        var count = 0
        while try decoder.next() != nil { count += 1 }
        #expect(count == (length < 8 ? 0 : 1))
    }

    @Test(arguments: [0, 1, 3] as [UInt8]) func `a request too short for an operation code is a framing error`(length: UInt8) {
        var decoder = FrameDecoder()
        decoder.append([0, 0, 0, length, 2, 0, 0, 0])
        #expect(throws: FrameError.tooShort(Int(length))) { try decoder.next() }
        #expect(throws: FrameError.tooShort(Int(length))) { try decoder.next() }
    }

    @Test(arguments: [10 << 20 + 1, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
    func `an excessive length followed by another protocol's bytes is a framing error`(length: UInt32) throws {
        var decoder = FrameDecoder()
        decoder.append((0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) })
        #expect(try decoder.next() == nil)
        decoder.append([0x2F])
        #expect(decoder.hasNext)
        #expect(throws: FrameError.tooLong(Int(length))) { try decoder.next() }
    }

    @Test(arguments: [1, 7, 64, 1000]) func `a request above the limit is skipped and refused with its operation code`(size: Int) throws {
        var decoder = FrameDecoder(maximumLength: 64)
        let stream = [0, 0, 0, 200, 2, 0, 0x32, 0xCA] + [UInt8](repeating: 7, count: 196) + [0, 0, 0, 4, 2, 0, 0, 20]
        var frames: [FrameDecoder.Frame] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            decoder.append(stream[start..<min(start + size, stream.count)])
            while let frame = try decoder.next() { frames.append(frame) }
            #expect(!decoder.hasNext && decoder.waitingBytes < max(size, 4 + 200))
        }
        #expect(frames == [.refused(Array(stream[4..<204]), length: 200), .request([2, 0, 0, 20])])
    }

    @Test(arguments: [1000, 100_000]) func `only the beginning of a long refused request is returned`(size: Int) throws {
        var decoder = FrameDecoder()
        let length = (10 << 20) + 1
        decoder.append([0x00, 0xA0, 0x00, 0x01, 2, 0, 0x32, 0xCA])
        var frames: [FrameDecoder.Frame] = []
        for start in stride(from: 4, to: length, by: size) {
            decoder.append([UInt8](repeating: 7, count: min(size, length - start)))
            while let frame = try decoder.next() { frames.append(frame) }
            #expect(decoder.waitingBytes < FrameDecoder.beginningLength + 4)
        }
        let beginning = [2, 0, 0x32, 0xCA] + [UInt8](repeating: 7, count: FrameDecoder.beginningLength - 4)
        #expect(frames == [.refused(beginning, length: length)])
        #expect(frames.first?.refusedOperation == KCM.Operation.replace.rawValue)
    }

    @Test func `a request of the maximum length is decoded`() throws {
        var decoder = FrameDecoder()
        decoder.append([0x00, 0xA0, 0x00, 0x00])
        decoder.append([UInt8](repeating: 2, count: 10 << 20))
        #expect(try decoder.next() == .request([UInt8](repeating: 2, count: 10 << 20)))
    }

    @Test func `many small requests in one buffer are decoded in order`() throws {
        var decoder = FrameDecoder()
        for number in 0..<10_000 { decoder.append([0, 0, 0, 6, 2, 0, 0, 0, UInt8(number >> 8), UInt8(number & 0xFF)]) }
        for number in 0..<10_000 {
            #expect(try decoder.next() == .request([2, 0, 0, 0, UInt8(number >> 8), UInt8(number & 0xFF)]))
        }
        #expect(try decoder.next() == nil)
    }
}

/// How the decoder skips a request for which the server has no room.
struct RefusedFrameTests {
    @Test(arguments: 8...13, [1, 3, 18]) func `a refused request is skipped and the next one is decoded`(arrived: Int, size: Int) throws {
        let stream: [UInt8] = [0, 0, 0, 10, 2, 0, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0, 4, 2, 0, 0, 20]
        var decoder = FrameDecoder()
        decoder.append(stream.prefix(arrived))
        #expect(try decoder.next() == nil)
        decoder.refuseUnfinished()
        #expect(decoder.waitingBytes == 0)
        var frames: [FrameDecoder.Frame] = []
        for start in stride(from: arrived, to: stream.count, by: size) {
            decoder.append(stream[start..<min(start + size, stream.count)])
            while let frame = try decoder.next() { frames.append(frame) }
        }
        #expect(frames == [.refused([2, 0, 0, 6], length: 10), .request([2, 0, 0, 20])])
    }

    @Test func `a request that is complete or lacks its operation code is not refused`() throws {
        var decoder = FrameDecoder()
        decoder.append([0, 0, 0, 4, 2, 0, 0, 20, 0, 0, 0, 4, 2])
        decoder.refuseUnfinished()
        #expect(try decoder.next() == .request([2, 0, 0, 20]))
        // The operation code, on which the reply depends, has not arrived.
        decoder.refuseUnfinished()
        decoder.append([0, 0, 7])
        #expect(try decoder.next() == .request([2, 0, 0, 7]))
        #expect(try decoder.next() == nil)
    }
}
