internal import Foundation

/// A file of the user's in which some lines are ours, between two marks.
struct SessionFile {
    let path: String
    /// Our lines, marks included.
    let text: String
    /// Whether the file has no other lines.
    let isOursAlone: Bool

    static let begin = "# >>> ksso >>> made by: ksso configure session --install"
    static let end = "# <<< ksso <<<"

    /// Whether our lines stand there as they should.
    var isInstalled: Bool { (try? place())?.isCurrent == true }

    /// Our lines as they stand there now; nil where there are none.
    var installedLines: [String]? {
        guard let content = FileManager.default.contents(atPath: path), let begin = content.range(of: Data(Self.begin.utf8)),
            let end = content.range(of: Data("\(Self.end)\n".utf8), in: begin.upperBound..<content.endIndex)
        else { return nil }
        return String(decoding: content[begin.upperBound..<end.lowerBound], as: UTF8.self).components(separatedBy: "\n")
    }

    /// Puts our lines in, or in the place of older ones. The rest of the file, its mode, and a link that leads to it stay.
    ///
    /// - Returns: False if they were there already.
    /// - Throws: ``CommandFailure`` where the file is somebody else's, or can't be written.
    func install() throws(CommandFailure) -> Bool {
        let place = try place()
        guard !place.isCurrent else { return false }
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        do {
            let files = FileManager.default
            try files.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            let mode = try? files.attributesOfItem(atPath: file.path)[.posixPermissions]
            try (place.before + Data(text.utf8) + place.after).write(to: file, options: .atomic)
            if let mode { try files.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path) }
        } catch {
            throw CommandFailure(.failed, "\(path): the file can't be written.")
        }
        return true
    }

    /// What stands before and behind our lines. Bytes: the user's part may be in any encoding.
    private func place() throws(CommandFailure) -> (before: Data, after: Data, isCurrent: Bool) {
        guard access(path, F_OK) == 0 else { return (Data(), Data(), false) }
        guard let content = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.failed, "\(path): the file can't be read.")
        }
        guard let begin = content.range(of: Data(Self.begin.utf8)) else {
            guard !isOursAlone || content.isEmpty else {
                throw CommandFailure(.failed, "\(path): the file was not made by ksso. Move it away.")
            }
            let separator = content.isEmpty || content.last == UInt8(ascii: "\n") ? "" : "\n"
            return (content + Data(separator.utf8), Data(), false)
        }
        guard let end = content.range(of: Data("\(Self.end)\n".utf8), in: begin.upperBound..<content.endIndex) else {
            throw CommandFailure(.failed, "\(path): the line “\(Self.end)” is missing. Remove what ksso wrote there, or put the line back.")
        }
        let isCurrent = content[begin.lowerBound..<end.upperBound] == Data(text.utf8)
        return (content[..<begin.lowerBound], content[end.upperBound...], isCurrent)
    }
}
