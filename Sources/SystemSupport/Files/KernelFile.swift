#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The files of the kernel, such as those of /proc (proc(5)). They report a size of 0, and the kernel returns their content in parts, so
/// that functions for whole files may return the first part only.
package enum KernelFile {
    /// The whole content as text; nil if the file cannot be read.
    package static func text(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? String(decoding: content, as: UTF8.self) : nil }
            content += part[..<count]
        }
    }
}
