internal import CDispatch
internal import CommandSupport
internal import Foundation

/// A file of the user that contains lines of this project between two marks.
struct SessionFile {
    let path: String
    /// The lines of this project, including the marks.
    let text: String
    /// Whether the file contains no other lines.
    let isOursAlone: Bool

    static let begin = "# >>> ksso >>> made by: ksso configure session --install"
    static let end = "# <<< ksso <<<"
    /// The second line, if the file did not end with a line break. Then ``remove()`` also removes the one that ``install()`` added.
    private static let joint = "# The text above this block did not end with a line break."

    /// What ``install()`` does to a file.
    enum Change {
        /// Creates the file.
        case creation
        /// Appends the lines.
        case addition
        /// Replaces older lines of this project.
        case replacement
    }

    /// What ``remove()`` has removed.
    enum Removal {
        case file
        case lines
    }

    /// The parts of a file, as bytes, because the user's part may have any encoding.
    private struct Parts {
        var before = Data()
        /// The installed lines, including the marks; nil if there are none.
        var lines: Data?
        var after = Data()

        var isJoined: Bool { lines.map { $0.starts(with: Data("\(SessionFile.begin)\n\(SessionFile.joint)\n".utf8)) } ?? false }
    }

    /// Whether the lines are installed and current.
    var isInstalled: Bool { (try? parts()).map { isCurrent($0) } ?? false }

    /// The installed lines; nil if there are none.
    var installedLines: [String]? {
        guard let lines = try? parts().lines else { return nil }
        return String(decoding: lines, as: UTF8.self).components(separatedBy: "\n")
    }

    /// What ``install()`` would do; nil if the lines are current.
    func pendingChange() throws(CommandFailure) -> Change? {
        let parts = try parts()
        if isCurrent(parts) { return nil }
        if parts.lines != nil { return .replacement }
        return access(path, F_OK) == 0 ? .addition : .creation
    }

    /// Inserts the lines, or replaces older ones. The rest of the file, its mode and a symbolic link to it stay unchanged.
    ///
    /// - Returns: False if the lines were already current.
    /// - Throws: ``CommandFailure`` if the file belongs to another user or cannot be written.
    func install() throws(CommandFailure) -> Bool {
        let parts = try parts()
        guard !isCurrent(parts) else { return false }
        let isOpen = parts.lines == nil && !parts.before.isEmpty && parts.before.last != UInt8(ascii: "\n")
        let separator = Data((isOpen ? "\n" : "").utf8)
        try write(parts.before + separator + lines(isJoined: isOpen || parts.isJoined) + parts.after)
        return true
    }

    /// Removes the lines; removes the file too if nothing else is in it. Another file of the same name is left unchanged.
    ///
    /// - Returns: What was removed; nil if the lines were not installed.
    func remove() throws(CommandFailure) -> Removal? {
        if isOursAlone, let content = FileManager.default.contents(atPath: path), content.range(of: Data(Self.begin.utf8)) == nil {
            return nil
        }
        let parts = try parts()
        guard parts.lines != nil else { return nil }
        let addsBreak = parts.isJoined && parts.after.isEmpty && parts.before.last == UInt8(ascii: "\n")
        let rest = (addsBreak ? parts.before.dropLast() : parts.before) + parts.after
        guard rest.isEmpty, isRemovable else {
            try write(rest)
            return .lines
        }
        try FileRemoval.remove(path)
        return .file
    }

    /// Whether the file may be removed if it is empty: not a symbolic link, and not one of the files for which bash ignores ~/.profile,
    /// even if they are empty.
    private var isRemovable: Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return ![".bash_profile", ".bash_login"].contains(URL(fileURLWithPath: path).lastPathComponent)
    }

    private func isCurrent(_ parts: Parts) -> Bool { parts.lines == lines(isJoined: parts.isJoined) }

    private func lines(isJoined: Bool) -> Data {
        Data((isJoined ? text.replacing("\(Self.begin)\n", with: "\(Self.begin)\n\(Self.joint)\n", maxReplacements: 1) : text).utf8)
    }

    private func write(_ data: Data) throws(CommandFailure) {
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        do {
            let files = FileManager.default
            try files.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            let mode = try? files.attributesOfItem(atPath: file.path)[.posixPermissions]
            try data.write(to: file, options: .atomic)
            if let mode { try files.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path) }
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written.")
        }
    }

    private func parts() throws(CommandFailure) -> Parts {
        guard access(path, F_OK) == 0 else { return Parts() }
        guard let content = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.failed, "\(path): the file cannot be read.")
        }
        guard let begin = content.range(of: Data(Self.begin.utf8)) else {
            guard !isOursAlone || content.isEmpty else {
                throw CommandFailure(.failed, "\(path): the file was not created by ksso. Move it to another folder.")
            }
            return Parts(before: content)
        }
        guard let end = content.range(of: Data("\(Self.end)\n".utf8), in: begin.upperBound..<content.endIndex) else {
            throw CommandFailure(
                .failed,
                "\(path): the line “\(Self.end)” is missing. Remove the lines that ksso wrote there, or restore that line."
            )
        }
        return Parts(
            before: content[..<begin.lowerBound],
            lines: content[begin.lowerBound..<end.upperBound],
            after: content[end.upperBound...]
        )
    }
}
