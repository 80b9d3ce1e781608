import Foundation

/// A folder of its own for one realm or one server.
enum TemporaryFolder {
    /// A path that nobody else has, in `TMPDIR` or `/tmp`.
    static func newPath() -> String {
        FileManager.default.temporaryDirectory.appending(path: "kerberos-testing-\(UUID().uuidString)").path
    }
}

extension String {
    /// Writes the text so that a reader sees the old file or the new one, never half of it.
    func writeFile(_ path: String) throws {
        try write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Reads a file, and takes a file that is not there as empty.
    static func contents(ofFile path: String) throws -> String {
        guard FileManager.default.fileExists(atPath: path) else { return "" }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    /// Reads a file of `/proc` to its end.
    ///
    /// `String(contentsOfFile:)` would not do: such a file says that its size is 0, and Foundation then stops after the first 4 KiB.
    package static func contents(ofKernelFile path: String) -> String? {
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
