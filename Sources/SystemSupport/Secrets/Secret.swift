#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Bytes that must not leak: a password, a key, or a ticket with its session key.
///
/// The memory is wiped when the last copy is released, and no description shows the content. Copies share one allocation.
public struct Secret: Sendable {
    private let storage: SecretStorage

    /// Copies the UTF-8 bytes of a string. Wiping the string itself is up to the caller.
    public init(_ text: String) { self.init(bytes: text.utf8) }

    /// Copies the bytes.
    public init(bytes: some Collection<UInt8>) { storage = SecretStorage(bytes) }

    /// The number of bytes.
    public var count: Int { storage.bytes.count - 1 }

    /// Whether there are no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Lends the bytes for the duration of the call; the buffer must not escape.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe storage.bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            try unsafe body(UnsafeRawBufferPointer(start: buffer.baseAddress, count: count))
        }
    }

    /// Lends the bytes as a C string, which ends at the first NUL byte.
    package func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe storage.bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            // There is a first byte, because the storage contains a NUL.
            try unsafe body(UnsafeRawPointer(buffer.baseAddress.unsafelyUnwrapped).assumingMemoryBound(to: CChar.self))
        }
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
        return zip(left.storage.bytes, right.storage.bytes).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The bytes that copies of a ``Secret`` share, with a NUL after them for C.
///
/// `@unchecked Sendable`: the bytes are written before `init` returns and only read until `deinit`.
private final class SecretStorage: @unchecked Sendable {
    private(set) var bytes: [UInt8] = []

    init(_ content: some Collection<UInt8>) {
        // The array must not grow, because it would release its former memory unwiped.
        bytes.reserveCapacity(content.count + 1)
        bytes.append(contentsOf: content)
        bytes.append(0)
    }

    deinit {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            #if canImport(Darwin)
                unsafe memset_s(start, buffer.count, 0, buffer.count)
            #else
                unsafe explicit_bzero(start, buffer.count)
            #endif
        }
    }
}
