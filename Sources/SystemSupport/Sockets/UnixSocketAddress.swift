#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#else
    package import Darwin
#endif

/// The address of a Unix socket (`sockaddr_un`, unix(7)).
package struct UnixSocketAddress {
    private let raw: sockaddr_un
    private let length: socklen_t

    /// Creates the address of a path; nil if it is empty, is too long, or contains a zero byte.
    package init?(path: String) { self.init(name: Array(path.utf8)) }

    /// Creates the address of a path, or of a name in Linux's abstract namespace if the text begins with `@`; nil if it is too long.
    package init?(pathOrAbstractName text: String) {
        guard text.hasPrefix("@") else {
            self.init(path: text)
            return
        }
        // A zero byte replaces the `@`, and the length marks the end of the name.
        self.init(name: [0] + text.utf8.dropFirst(), isAbstract: true)
    }

    private init?(name: [UInt8], isAbstract: Bool = false) {
        var raw = sockaddr_un()
        raw.sun_family = sa_family_t(AF_UNIX)
        let fits = unsafe withUnsafeMutableBytes(of: &raw.sun_path) { place in
            // A path needs a final zero byte, which is one of those already there.
            guard name.count < place.count, isAbstract || !name.contains(0), !name.isEmpty else { return false }
            unsafe place.copyBytes(from: name)
            return true
        }
        guard fits else { return nil }
        self.raw = raw
        let start = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2
        length = socklen_t(isAbstract ? start + name.count : MemoryLayout<sockaddr_un>.size)
    }

    /// Passes the address to a system call, such as bind(2), and returns its result.
    package func lent<Result>(to call: (UnsafePointer<sockaddr>?, socklen_t) -> Result) -> Result {
        unsafe withUnsafeBytes(of: raw) { unsafe call($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), length) }
    }

    /// The path that a socket is bound to; nil if the descriptor is not a Unix socket.
    package static func path(boundTo descriptor: Int32) -> String? {
        var raw = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let named = unsafe withUnsafeMutableBytes(of: &raw) {
            unsafe getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard named == 0, raw.sun_family == AF_UNIX else { return nil }
        return unsafe withUnsafeBytes(of: &raw.sun_path) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
