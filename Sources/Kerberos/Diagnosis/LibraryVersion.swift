internal import Foundation
internal import SystemSupport

/// The version of libkrb5.
package enum LibraryVersion {
    /// The version of the libkrb5 that this process has loaded, such as `1.20.1`, or `nil` if it cannot be determined.
    ///
    /// libkrb5 has no function for it, but its file contains it: `KRB5_BRAND: krb5-1.20.1-final 1.20.1 20221111`. Ubuntu's linker removes
    /// this text; there the version is that of the package, if the library is in the system's folder. Call this only to print the version,
    /// because it reads both files.
    package static func loaded() -> String? {
        guard let path = path(in: KernelFile.text("/proc/self/maps") ?? "") else { return nil }
        let file = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        if let version = file.flatMap(version(in:)) { return version }
        guard path.hasPrefix("/usr/lib/"), let database = FileManager.default.contents(atPath: "/var/lib/dpkg/status") else { return nil }
        return packageVersion(in: database)
    }

    /// The path of libkrb5 in the list of a process's mapped files.
    static func path(in maps: String) -> String? {
        for line in maps.utf8.split(separator: UInt8(ascii: "\n")) {
            guard let start = line.firstIndex(of: UInt8(ascii: "/")), let slash = line.lastIndex(of: UInt8(ascii: "/")) else { continue }
            if line[slash...].starts(with: "/libkrb5.so".utf8) { return String(decoding: line[start...], as: UTF8.self) }
        }
        return nil
    }

    /// The version that a file of libkrb5 states.
    static func version(in file: Data) -> String? {
        // Data.range(of:) would copy the file, so this searches the mapped bytes.
        let text: String? = file.withUnsafeBytes { bytes in
            let mark = Array("KRB5_BRAND: ".utf8)
            var rest = bytes
            while let base = rest.baseAddress, let start = memchr(base, CInt(mark[0]), rest.count) {
                rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(start) - base)...])
                if rest.starts(with: mark) {
                    return String(decoding: rest.dropFirst(mark.count).prefix(100).prefix { $0 != 0 }, as: UTF8.self)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
            }
            return nil
        }
        guard let words = text?.split(separator: " ") else { return nil }
        return words.count > 1 && words[1].first?.isNumber == true ? String(words[1]) : nil
    }

    /// The version of the installed package `libkrb5-3` in dpkg's database, without the revision of the distribution.
    ///
    /// The database may contain names of maintainers in other encodings than UTF-8.
    static func packageVersion(in database: Data) -> String? {
        var isPackage = false
        for line in String(decoding: database, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty { isPackage = false }
            if line == "Package: libkrb5-3" { isPackage = true }
            if isPackage, line.hasPrefix("Version: ") {
                let version = line.dropFirst("Version: ".count).split(separator: ":").last?.split(separator: "-").first
                return version.map(String.init)
            }
        }
        return nil
    }
}
