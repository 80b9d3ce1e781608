internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// The profiles that `ksso setup` has installed in a folder, so that `ksso setup --undo` removes these and no others.
struct InstalledProfiles {
    let directory: String

    /// The search for profiles ignores a file with this name.
    private var path: String { "\(directory)/.setup.json" }

    /// The fingerprint of each profile's content, by file name.
    private var fingerprints: [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }

    /// Records that a profile was installed.
    func add(_ name: String, _ content: Data) throws(CommandFailure) {
        try record(fingerprints.merging([name: Fingerprint.of(content)]) { $1 })
    }

    /// Removes the installed profiles, except those that were changed since, and prints each of them.
    ///
    /// - Returns: Whether there was an installed profile, removed or not.
    func remove() throws(CommandFailure) -> Bool {
        var rest: [String: String] = [:]
        var hasAny = false
        for (name, fingerprint) in fingerprints.sorted(by: { $0.key < $1.key }) where !name.contains("/") {
            let file = "\(directory)/\(name)"
            guard let content = FileManager.default.contents(atPath: file) else { continue }
            hasAny = true
            guard Fingerprint.of(content) == fingerprint else {
                rest[name] = fingerprint
                Console.note(
                    "\(file): kept, because it was changed after its installation. To remove it: ksso profile remove \(shellWord(name))"
                )
                continue
            }
            try AtomicFile.remove(file)
            Console.print("\(file): removed")
        }
        try record(rest)
        return hasAny
    }

    private func record(_ fingerprints: [String: String]) throws(CommandFailure) {
        guard !fingerprints.isEmpty else {
            unlink(path)
            return
        }
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(fingerprints).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written.")
        }
    }
}

/// A short text that differs for different contents.
enum Fingerprint {
    /// FNV-1a with 64 bits: the same in every process. It need not resist attacks, because only the user writes to the folders of these
    /// files.
    static func of(_ content: some Sequence<UInt8>) -> String {
        let hash = content.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
