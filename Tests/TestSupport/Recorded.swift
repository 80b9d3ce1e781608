internal import Synchronization

/// A list to which any thread can append, such as the lines of a log.
package final class Recorded<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    package init() {}

    /// The elements so far.
    package var all: [Element] { elements.withLock { $0 } }

    package func append(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// A counter that any thread can increment.
package final class Counter: Sendable {
    private let value = Atomic(0)

    package init() {}

    /// How often the counter was incremented.
    package var count: Int { value.load(ordering: .sequentiallyConsistent) }

    /// Increments the counter and returns its value: 1, 2, 3 and so on.
    @discardableResult package func next() -> Int { value.add(1, ordering: .sequentiallyConsistent).newValue }
}
