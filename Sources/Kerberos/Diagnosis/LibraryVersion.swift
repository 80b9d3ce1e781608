internal import Foundation

/// The version of libkrb5.
package enum LibraryVersion {
    /// The version of the libkrb5 that this process has loaded, such as `1.20.1`, or `nil` if it cannot be determined.
    ///
    /// libkrb5 has no function for it, but its file contains it: `KRB5_BRAND: krb5-1.20.1-final 1.20.1 20221111`. Call this only to print
    /// the version, because it reads the whole file.
    package static func loaded() -> String? {
        guard let path = path(in: mappedFiles()), let file = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        else { return nil }
        return version(in: file)
    }

    /// The kernel's list of this process's mapped files; empty if there is none.
    private static func mappedFiles() -> String {
        guard let handle = FileHandle(forReadingAtPath: "/proc/self/maps") else { return "" }
        var list = Data()
        // The kernel returns the list in parts, and Foundation's functions for whole files stop after the first one.
        while let part = try? handle.read(upToCount: 1 << 16), !part.isEmpty { list.append(part) }
        return String(decoding: list, as: UTF8.self)
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
        guard let mark = file.range(of: Data("KRB5_BRAND: ".utf8)) else { return nil }
        let text = String(decoding: file[mark.upperBound...].prefix(100).prefix { $0 != 0 }, as: UTF8.self)
        let words = text.split(separator: " ")
        return words.count > 1 && words[1].first?.isNumber == true ? String(words[1]) : nil
    }
}
