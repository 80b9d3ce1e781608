internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// A text file that contains lines of this project between two marks.
struct MarkedFile: SettingsFile {
    let path: String
    /// The lines of this project without the marks, each with its line break.
    let lines: String
    let marks: Marks
    /// Whether the file contains no other lines.
    let isOursAlone: Bool
    /// The header, such as `[global]`, of the section that the lines belong to; nil if they may be anywhere. Without such a section in the
    /// file, the marked lines begin with the header.
    var section: String?
    /// The mode of a new file; nil lets the umask decide.
    var mode: mode_t?
    /// Whether a line between the marks is one of this project, in a file that other programs change line by line. Nil accepts all lines.
    var isOwn: (@Sendable (String) -> Bool)?

    /// The comments around the lines, which name the command that wrote them.
    struct Marks: Sendable {
        let begin: String
        let end: String
        /// The second line, if the file did not end with a line break. Then ``MarkedFile/remove()`` also removes the one that
        /// ``MarkedFile/install()`` added.
        fileprivate let joint: String

        /// - Parameter comment: What starts a comment in the file.
        init(command: String, comment: String = "#") {
            begin = "\(comment) >>> ksso >>> made by: \(command) --install"
            end = "\(comment) <<< ksso <<<"
            joint = "\(comment) The text above this block did not end with a line break."
        }
    }

    /// The parts of a file, as bytes, because the user's part may have any encoding.
    private struct Parts {
        var before = Data()
        /// The installed lines, including the marks; nil if there are none.
        var lines: Data?
        var after = Data()
    }

    var text: String { block(hasHeader: section != nil) }

    /// The lines in an existing file of other content are an addition to it.
    var isShared: Bool { !isOursAlone }

    /// Whether the lines are installed and current.
    var isInstalled: Bool { (try? parts()).map { isCurrent($0) } ?? false }

    /// The installed lines; nil if there are none.
    var installedLines: [String]? {
        guard let lines = try? parts().lines else { return nil }
        return String(decoding: lines, as: UTF8.self).components(separatedBy: "\n")
    }

    var installedText: String? { installedLines?.joined(separator: "\n") }

    /// The lines that are not of this project.
    var otherLines: [String] {
        guard let parts = try? parts() else { return [] }
        return String(decoding: parts.before + parts.after, as: UTF8.self).components(separatedBy: "\n")
    }

    /// The lines of others below the installed ones; none if these are not installed.
    var laterLines: [String] {
        guard let parts = try? parts(), parts.lines != nil else { return [] }
        return String(decoding: parts.after, as: UTF8.self).components(separatedBy: "\n")
    }

    func pendingChange() throws(CommandFailure) -> SettingsChange? {
        let parts = try parts()
        if isCurrent(parts) { return nil }
        if parts.lines != nil { return .replacement }
        return access(path, F_OK) == 0 ? .addition : .creation
    }

    /// Inserts the lines, or replaces older ones. The rest of the file, its mode and a symbolic link to it stay unchanged.
    ///
    /// - Returns: False if the lines were already current.
    /// - Throws: `CommandFailure` if the file cannot be read or written.
    func install() throws(CommandFailure) -> Bool {
        var parts = try parts()
        guard !isCurrent(parts) else { return false }
        guard parts.lines == nil else {
            try refuseOtherLines(parts)
            try write(parts.before + expected(like: parts) + parts.after)
            return true
        }
        let hasSection = splitAtSection(&parts)
        let isOpen = !parts.before.isEmpty && parts.before.last != UInt8(ascii: "\n")
        let separator = Data((isOpen ? "\n" : "").utf8)
        try write(parts.before + separator + data(isJoined: isOpen, hasHeader: section != nil && !hasSection) + parts.after)
        return true
    }

    /// Removes the lines; removes the file too if nothing else is in it. Another file of the same name is left unchanged.
    ///
    /// - Returns: What was removed; nil if the lines were not installed.
    func remove() throws(CommandFailure) -> SettingsRemoval? {
        if isOursAlone, let content = FileManager.default.contents(atPath: path), content.range(of: Data(marks.begin.utf8)) == nil {
            return nil
        }
        let parts = try parts()
        guard parts.lines != nil else { return nil }
        try refuseOtherLines(parts)
        let addsBreak = isJoined(parts) && parts.after.isEmpty && parts.before.last == UInt8(ascii: "\n")
        let rest = (addsBreak ? parts.before.dropLast() : parts.before) + keptHeader(parts) + parts.after
        guard rest.isEmpty, isRemovable else {
            try write(rest)
            return .settings
        }
        try AtomicFile.remove(path)
        return .file
    }

    /// Whether the file may be removed if it is empty: not a symbolic link, and not one of the files for which bash ignores ~/.profile,
    /// even if they are empty.
    private var isRemovable: Bool {
        guard FileStatus(path: path, followsLinks: false)?.isFile == true else { return false }
        return ![".bash_profile", ".bash_login"].contains(URL(fileURLWithPath: path).lastPathComponent)
    }

    /// Throws if another program has added a line between the marks, because it would be lost.
    private func refuseOtherLines(_ parts: Parts) throws(CommandFailure) {
        guard let isOwn, let lines = parts.lines else { return }
        let inner = String(decoding: lines, as: UTF8.self).components(separatedBy: "\n").filter { !$0.isEmpty && !$0.hasPrefix("#") }
        guard let line = inner.first(where: { !isOwn($0) })?.trimmingCharacters(in: .whitespaces) else { return }
        throw CommandFailure(
            .failed,
            "\(path): the line “\(line)” is between the lines of ksso. Move it with its section below the line “\(marks.end)”."
        )
    }

    private func isCurrent(_ parts: Parts) -> Bool { parts.lines == expected(like: parts) }

    /// The current lines in the form of the installed ones.
    private func expected(like parts: Parts) -> Data { data(isJoined: isJoined(parts), hasHeader: hasHeader(parts)) }

    private func isJoined(_ parts: Parts) -> Bool { hasSecondLine(marks.joint, parts) }

    private func hasHeader(_ parts: Parts) -> Bool {
        guard let section else { return false }
        guard let lines = parts.lines else { return true }
        return String(decoding: lines, as: UTF8.self).components(separatedBy: "\n").contains(section)
    }

    private func hasSecondLine(_ line: String, _ parts: Parts) -> Bool {
        parts.lines.map { $0.starts(with: Data("\(marks.begin)\n\(line)\n".utf8)) } ?? false
    }

    private func block(isJoined: Bool = false, hasHeader: Bool) -> String {
        let header = hasHeader ? section.map { "\($0)\n" } ?? "" : ""
        return "\(marks.begin)\n\(isJoined ? "\(marks.joint)\n" : "")\(header)\(lines)\(marks.end)\n"
    }

    private func data(isJoined: Bool, hasHeader: Bool) -> Data { Data(block(isJoined: isJoined, hasHeader: hasHeader).utf8) }

    /// The header that must stay, because lines that were added below the marked ones are in its section.
    private func keptHeader(_ parts: Parts) -> Data {
        guard let section, hasHeader(parts) else { return Data() }
        let next = String(decoding: parts.after, as: UTF8.self).split(whereSeparator: \.isWhitespace).first
        return next.map { $0.hasPrefix("[") } ?? true ? Data() : Data("\(section)\n".utf8)
    }

    /// Moves the text that follows the header of the section behind the place for the lines.
    ///
    /// - Returns: Whether there is such a section.
    private func splitAtSection(_ parts: inout Parts) -> Bool {
        guard let section else { return false }
        var rest = parts.before[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[..<end], as: UTF8.self).trimmingCharacters(in: .whitespaces)
            rest = rest[rest.index(after: end)...]
            guard line == section else { continue }
            (parts.before, parts.after) = (parts.before[..<rest.startIndex], Data(rest))
            return true
        }
        // The last line may have no line break.
        return String(decoding: rest, as: UTF8.self).trimmingCharacters(in: .whitespaces) == section
    }

    private func write(_ data: Data) throws(CommandFailure) { try AtomicFile.write(data, to: path, mode: mode) }

    private func parts() throws(CommandFailure) -> Parts {
        guard access(path, F_OK) == 0 else { return Parts() }
        guard let content = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.failed, "\(path): the file cannot be read.")
        }
        guard let begin = content.range(of: Data(marks.begin.utf8)) else {
            guard !isOursAlone || content.isEmpty else {
                throw CommandFailure(.failed, "\(path): the file was not created by ksso. Move it to another folder.")
            }
            return Parts(before: content)
        }
        guard let end = content.range(of: Data("\(marks.end)\n".utf8), in: begin.upperBound..<content.endIndex) else {
            throw CommandFailure(
                .failed,
                "\(path): the line “\(marks.end)” is missing. Remove the lines that ksso wrote there, or restore that line."
            )
        }
        return Parts(
            before: content[..<begin.lowerBound],
            lines: content[begin.lowerBound..<end.upperBound],
            after: content[end.upperBound...]
        )
    }
}
