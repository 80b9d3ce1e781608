internal import CommandSupport
internal import Foundation

/// Settings of the form `name = value` in a text file that may have others, between two marks.
struct TextSettingsFile: SettingsFile {
    let path: String
    /// The names and values, in order.
    let settings: [(name: String, value: String)]
    /// What separates a name from its value in the file.
    let separator: String
    let marks: MarkedFile.Marks
    /// The section's header, such as `[global]`.
    var section: String?
    var mode: mode_t?

    let isShared = true

    var text: String { file(settings).text }

    var installedText: String? { file(settings).installedText }

    func pendingChange() throws(CommandFailure) -> SettingsChange? {
        let lacking = try lackingSettings()
        let file = file(lacking)
        return lacking.isEmpty && file.installedLines == nil ? nil : try file.pendingChange()
    }

    func install() throws(CommandFailure) -> Bool { try pendingChange() == nil ? false : try file(lackingSettings()).install() }

    func remove() throws(CommandFailure) -> SettingsRemoval? { try file(settings).remove() }

    private func file(_ settings: [(name: String, value: String)]) -> MarkedFile {
        let lines = settings.map { "\($0.name)\(separator)\($0.value)\n" }.joined()
        return MarkedFile(path: path, lines: lines, marks: marks, isOursAlone: false, section: section, mode: mode)
    }

    /// The settings that the other lines do not have already.
    ///
    /// - Throws: `CommandFailure` if one of them has another value, because a program uses only one of two lines, or refuses both.
    private func lackingSettings() throws(CommandFailure) -> [(name: String, value: String)] {
        var present: [String: String] = [:]
        var current: String?
        for line in file(settings).otherLines.map({ $0.trimmingCharacters(in: .whitespaces) }) {
            if line.hasPrefix("[") { current = line }
            guard current == section, !line.hasPrefix("#"), !line.hasPrefix(";"), let sign = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
            present[line[..<sign].trimmingCharacters(in: .whitespaces)] = value.trimmingCharacters(in: ["\""])
        }
        for (name, value) in settings {
            guard let found = present[name], found != value else { continue }
            throw CommandFailure(
                .failed,
                "\(path): \(name) is \(found). Change it to \(value), or remove the line so that ksso can set it."
            )
        }
        return settings.filter { present[$0.name] == nil }
    }
}
