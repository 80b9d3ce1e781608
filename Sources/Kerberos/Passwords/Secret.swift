internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Bytes that must not leak: a password, a key, or a ticket with its session key.
///
/// The memory is wiped when the last copy is released, and no description shows the content. Copies share one allocation.
public struct Secret: Sendable {
    private let storage: SecretStorage

    /// Copies the UTF-8 bytes of a string. Wiping the string itself is up to the caller.
    public init(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Copies the bytes.
    public init(bytes: some Collection<UInt8>) {
        storage = SecretStorage(count: bytes.count) { buffer in
            _ = UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes.count]).initializeMemory(as: UInt8.self, from: bytes)
        }
    }

    /// The number of bytes.
    public var count: Int { storage.count }

    /// Whether there are no bytes.
    public var isEmpty: Bool { storage.count == 0 }

    /// Lends the bytes for the duration of the call; the buffer must not escape.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: storage.bytes.baseAddress, count: storage.count))
    }

    /// Lends the bytes as a C string, which ends at the first NUL byte.
    func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(storage.cString)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A placeholder, never the content.
    public var description: String { "<secret>" }
    /// A placeholder, never the content.
    public var debugDescription: String { description }
    /// An empty mirror, never the content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable {
    /// Compares in a time that does not depend on where the bytes differ.
    public static func == (left: Secret, right: Secret) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { leftBytes in
            right.withUnsafeBytes { rightBytes in
                zip(leftBytes, rightBytes).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
    }
}

/// The allocation that copies of a ``Secret`` share, with a NUL after the bytes for C.
///
/// `@unchecked Sendable`: the memory is written before `init` returns and only read until `deinit`.
private final class SecretStorage: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    let cString: UnsafePointer<CChar>
    let count: Int

    init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        self.count = count
        let start = UnsafeMutableRawPointer.allocate(byteCount: count + 1, alignment: 1)
        bytes = UnsafeMutableRawBufferPointer(start: start, count: count + 1)
        cString = UnsafePointer(start.assumingMemoryBound(to: CChar.self))
        fill(bytes)
        bytes[count] = 0
    }

    deinit {
        #if canImport(Glibc)
            if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        #else
            if let start = bytes.baseAddress { memset_s(start, bytes.count, 0, bytes.count) }
        #endif
        bytes.deallocate()
    }
}
