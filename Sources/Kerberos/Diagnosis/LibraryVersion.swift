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
        for line in maps.split(separator: "\n") {
            guard let start = line.firstIndex(of: "/") else { continue }
            let path = line[start...]
            if path.split(separator: "/").last?.hasPrefix("libkrb5.so") == true { return String(path) }
        }
        return nil
    }

    /// The version that a file of libkrb5 states.
    static func version(in file: Data) -> String? {
        // Near the end of the file.
        guard let mark = file.range(of: Data("KRB5_BRAND: ".utf8), options: .backwards) else { return nil }
        let text = String(decoding: file[mark.upperBound...].prefix(100).prefix { $0 != 0 }, as: UTF8.self)
        let words = text.split(separator: " ")
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
