import Testing

@testable import ActiveDirectory

/// Encrypted messages that a socket takes in parts.
struct LeavingMessagesTests {
    /// A socket that takes as many bytes each time as the list says; then none.
    private final class Socket {
        var taken: [UInt8] = []
        var room: [Int]

        init(_ room: [Int]) { self.room = room }

        func send(_ bytes: ArraySlice<UInt8>) -> Int {
            guard let next = room.first else { return -1 }
            room.removeFirst()
            taken += bytes.prefix(next)
            return min(next, bytes.count)
        }
    }

    @Test func `a message that the socket takes in parts is reported when all of it is sent`() {
        var leaving = LeavingMessages()
        let socket = Socket([2, 1, 100])
        #expect(leaving.write(count: 3, encrypted: { [1, 2, 3, 4, 5, 6] }, to: socket.send) == 3)
        #expect(socket.taken == [1, 2, 3, 4, 5, 6])
    }

    @Test func `a message that the socket does not take completely is not reported, and encrypted once`() {
        var leaving = LeavingMessages()
        let socket = Socket([2])
        #expect(leaving.write(count: 3, encrypted: { [1, 2, 3, 4] }, to: socket.send) == -1)
        socket.room = [1]
        #expect(leaving.write(count: 3, encrypted: { [9] }, to: socket.send) == -1)
        socket.room = [100]
        #expect(leaving.write(count: 3, encrypted: { [9] }, to: socket.send) == 3)
        #expect(socket.taken == [1, 2, 3, 4])
        socket.room = [100]
        #expect(leaving.write(count: 1, encrypted: { [5, 6] }, to: socket.send) == 1)
        #expect(socket.taken == [1, 2, 3, 4, 5, 6])
    }

    @Test func `a message that cannot be encrypted is not sent`() {
        var leaving = LeavingMessages()
        let socket = Socket([100])
        #expect(leaving.write(count: 3, encrypted: { nil }, to: socket.send) == -1)
        #expect(leaving.write(count: 3, encrypted: { [1] }, to: socket.send) == 3)
        #expect(socket.taken == [1])
    }
}
