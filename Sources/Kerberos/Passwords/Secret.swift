internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Bytes that must not leak: a password, a key, a ticket with its session key.
///
/// The memory is wiped when the last copy goes, and no description shows the content. Copies of the value share one allocation.
public struct Secret: Sendable {
    private let storage: SecretStorage

    /// Keeps the UTF-8 bytes of a string. The string itself is the caller's to forget.
    public init(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Keeps a copy of the bytes.
    public init(bytes: some Collection<UInt8>) {
        storage = SecretStorage(count: bytes.count) { buffer in
            _ = UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes.count]).initializeMemory(as: UInt8.self, from: bytes)
        }
    }

    /// How many bytes are kept.
    public var count: Int { storage.count }

    /// Whether nothing is kept.
    public var isEmpty: Bool { storage.count == 0 }

    /// Lends the bytes for the length of the call; the buffer must not escape.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: storage.bytes.baseAddress, count: storage.count))
    }

    /// Lends the bytes as a C string; one that holds a NUL is cut there by C.
    func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(storage.cString)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the content.
    public var description: String { "<secret>" }
    /// Never the content.
    public var debugDescription: String { description }
    /// Never the content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable {
    /// Compares without stopping at the first difference.
    public static func == (left: Secret, right: Secret) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { leftBytes in
            right.withUnsafeBytes { rightBytes in
                zip(leftBytes, rightBytes).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
    }
}

/// The one allocation behind copies of a ``Secret``, with a NUL after the bytes for C.
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
