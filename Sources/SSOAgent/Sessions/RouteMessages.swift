/// The messages of one rtnetlink datagram (linux/netlink.h, linux/rtnetlink.h), reduced to their headers.
struct RouteMessages: Sequence, IteratorProtocol {
    /// One message.
    struct Message: Hashable {
        /// The message type, such as `RTM_NEWLINK`.
        let type: UInt16
        /// The origin of a route (`rtm_protocol`); nil if the message is not about a route.
        let origin: UInt8?

        /// Whether the change can make a KDC reachable or unreachable.
        var matters: Bool {
            switch type {
            case 16, 17, 20, 21: true  // RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR
            // Routes by the kernel (2) accompany address changes, and those of router advertisements (9) are repeated every few seconds.
            case 24, 25: origin != 2 && origin != 9  // RTM_NEWROUTE, RTM_DELROUTE
            default: false
            }
        }
    }

    private var rest: ArraySlice<UInt8>

    init(_ datagram: ArraySlice<UInt8>) { rest = datagram }

    mutating func next() -> Message? {
        guard rest.count >= 16 else { return nil }
        let start = rest.startIndex
        func number(_ offset: Int, _ count: Int) -> Int {
            // The fields are in the machine's byte order.
            let bytes = rest[(start + offset)..<(start + offset + count)]
            return (1.littleEndian == 1 ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
        }
        let length = number(0, 4)
        guard length >= 16, length <= rest.count else { return nil }
        let type = UInt16(number(4, 2))
        let isRoute = type == 24 || type == 25
        let message = Message(type: type, origin: isRoute && length >= 28 ? rest[start + 16 + 5] : nil)
        rest = rest.dropFirst((length + 3) & ~3)
        return message
    }
}
