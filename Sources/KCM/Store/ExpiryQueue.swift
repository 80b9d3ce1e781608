/// The tickets of a cache by the time of their end, so that the expired ones are found without reading the others.
///
/// A binary heap. A ticket that has left the cache stays here until it is the first, or until the queue is rebuilt: the caller compares
/// with its list.
struct ExpiryQueue {
    private struct Entry {
        let end: UInt32
        let serial: UInt64
    }

    private var heap: [Entry] = []

    var count: Int { heap.count }

    /// The serial number of the ticket that ends first.
    var first: UInt64? { heap.first?.serial }

    mutating func insert(_ serial: UInt64, end: UInt32) {
        heap.append(Entry(end: end, serial: serial))
        var child = heap.count - 1
        while child > 0, heap[child].end < heap[(child - 1) / 2].end {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
            guard let least = children.min(by: { heap[$0].end < heap[$1].end }), heap[least].end < heap[parent].end else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    /// The serial numbers of the tickets that end before a time, in no order; reads one or two entries for each of them.
    func serials(endingBefore time: Int64) -> [UInt64] {
        var found: [UInt64] = []
        var positions = [0]
        while let position = positions.popLast() {
            guard position < heap.count, Int64(heap[position].end) < time else { continue }
            found.append(heap[position].serial)
            positions += [2 * position + 1, 2 * position + 2]
        }
        return found
    }
}
