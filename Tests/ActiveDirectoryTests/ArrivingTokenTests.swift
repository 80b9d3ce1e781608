import Testing

@testable import ActiveDirectory

/// How the tokens of a security layer are put together from the bytes that arrive.
@Suite struct ArrivingTokenTests {
    private func tokens(_ bytes: [UInt8], step: Int) -> [ArrivingToken.Progress] {
        var arriving = ArrivingToken()
        var tokens: [ArrivingToken.Progress] = []
        var rest = bytes[...]
        while !rest.isEmpty, tokens.last != .tooLong {
            let count = min(arriving.missing, step)
            arriving.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            let progress = arriving.take()
            if progress != .incomplete { tokens.append(progress) }
        }
        return tokens
    }

    @Test(arguments: 1...9) func `tokens are the same however their bytes arrive`(step: Int) {
        let bytes: [UInt8] = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 9, 5]
        #expect(tokens(bytes, step: step) == [.complete([1, 2, 3]), .complete([]), .complete([4])])
    }

    @Test func `a token of more than 1 MiB is refused when its length has arrived`() {
        #expect(tokens([0, 16, 0, 0], step: 4) == [])
        #expect(tokens([0, 16, 0, 1], step: 4) == [.tooLong])
        #expect(tokens([0xFF, 0xFF, 0xFF, 0xFF, 0], step: 1) == [.tooLong])
    }

    @Test func `no byte of the next token is read`() {
        var arriving = ArrivingToken()
        #expect(arriving.missing == 4 && !arriving.hasBegun)
        arriving.append([0, 0, 0, 2])
        #expect(arriving.missing == 2 && !arriving.hasBegun)
        arriving.append([7])
        #expect(arriving.missing == 1 && arriving.hasBegun && arriving.take() == .incomplete)
    }
}
