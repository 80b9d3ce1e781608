internal import CommandSupport
internal import Foundation

/// What this project added to the JSON files of other programs, which have no comments to mark it with.
struct SettingsRecord: Sendable {
    /// The additions to one file. The keys are paths of keys, joined with `/`.
    struct Additions: Codable, Equatable, Sendable {
        /// Whether the file was created for them.
        var isCreated = false
        /// The objects that were created for them.
        var objects: [String] = []
        /// The values, as JSON.
        var values: [String: String] = [:]
        /// The elements of arrays.
        var elements: [String: [String]] = [:]

        var isEmpty: Bool { values.isEmpty && elements.allSatisfy(\.value.isEmpty) }
    }

    let path: String
    let mode: mode_t?

    subscript(file: String) -> Additions? { all[file] }

    /// Replaces the record of a file; nil removes it.
    func set(_ additions: Additions?, for file: String) throws(CommandFailure) {
        var all = all
        all[file] = additions
        if all.isEmpty {
            unlink(path)
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(all) else { return }
        try AtomicFile.write(data + Data("\n".utf8), to: path, mode: mode)
    }

    private var all: [String: Additions] {
        guard let data = FileManager.default.contents(atPath: path) else { return [:] }
        return (try? JSONDecoder().decode([String: Additions].self, from: data)) ?? [:]
    }
}
