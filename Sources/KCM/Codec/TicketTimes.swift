/// The four times of a ticket in seconds since 1970, unsigned as libkrb5 takes them, so that they last until 2106.
package struct TicketTimes: Hashable, Sendable {
    package var authentication: UInt32
    package var start: UInt32
    package var end: UInt32
    package var renewTill: UInt32

    package init(authentication: UInt32 = 0, start: UInt32 = 0, end: UInt32 = 0, renewTill: UInt32 = 0) {
        self.authentication = authentication
        self.start = start
        self.end = end
        self.renewTill = renewTill
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        authentication = try reader.number("times")
        start = try reader.number("times")
        end = try reader.number("times")
        renewTill = try reader.number("times")
    }
}
