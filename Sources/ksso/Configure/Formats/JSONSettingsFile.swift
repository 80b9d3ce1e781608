internal import CommandSupport
internal import Foundation

/// Settings in a JSON file that may have others. What was added is in a record, so that nothing else is ever removed.
struct JSONSettingsFile: SettingsFile {
    /// One setting.
    struct Setting: Sendable {
        let path: [String]
        let content: Content

        /// The path as a person writes it.
        var name: String { path.joined(separator: ".") }

        fileprivate var key: String { path.joined(separator: "/") }
    }

    enum Content: Sendable {
        /// A value that no one else may set.
        case value(JSONText)
        /// Elements of an array that may also have elements of others.
        case elements([String])
    }

    let path: String
    let settings: [Setting]
    let record: SettingsRecord
    let mode: mode_t?
    /// Whether other programs and people write to the file too.
    var isShared = true

    var text: String {
        var document = JSONText.object([])
        for setting in settings { _ = document.set(setting.content.json, at: setting.path) }
        return document.text() + "\n"
    }

    var installedText: String? {
        guard let values = record[path]?.values, let document = try? document() else { return nil }
        let present = values.filter { document[Self.path($0.key)]?.text() == $0.value }
        return present.isEmpty ? nil : present.values.sorted().joined(separator: "\n")
    }

    var missingText: String { "\(path): \(settings.map(\.name).joined(separator: ", "))" }

    func clause(_ change: SettingsChange) -> String { change == .creation ? "\(change)" : "add these settings" }

    /// The file as it is, and as it will be.
    private struct Edit {
        var document: JSONText
        var additions: SettingsRecord.Additions
    }

    func pendingChange() throws(CommandFailure) -> SettingsChange? {
        let former = try document()
        let edit = try edited(former ?? .object([]))
        guard edit.document != former, former != nil || !settings.isEmpty else { return nil }
        guard former != nil else { return .creation }
        return record[path].map(\.isEmpty) ?? true ? .addition : .replacement
    }

    func install() throws(CommandFailure) -> Bool {
        guard try pendingChange() != nil else { return false }
        let former = try document()
        var edit = try edited(former ?? .object([]))
        if former == nil { edit.additions.isCreated = true }
        // The record precedes the change, because an addition without a record would never be removed.
        try record.set(edit.additions, for: path)
        try write(edit.document)
        return true
    }

    func remove() throws(CommandFailure) -> SettingsRemoval? {
        guard let additions = record[path] else { return nil }
        guard var document = try document() else {
            try record.set(nil, for: path)
            return nil
        }
        let former = document
        for (key, value) in additions.values where document[Self.path(key)]?.text() == value {
            _ = document.set(nil, at: Self.path(key))
        }
        for (key, elements) in additions.elements {
            let rest = Self.elements(at: Self.path(key), of: document).filter { $0.string.map { !elements.contains($0) } ?? true }
            let isKept = !rest.isEmpty || !additions.objects.contains(key)
            if document[Self.path(key)] != nil { _ = document.set(isKept ? .array(rest) : nil, at: Self.path(key)) }
        }
        // Inner objects first.
        for key in additions.objects.sorted().reversed() where document[Self.path(key)] == .object([]) {
            _ = document.set(nil, at: Self.path(key))
        }
        if document == .object([]), additions.isCreated {
            try AtomicFile.remove(path)
        } else if document != former {
            try write(document)
        }
        try record.set(nil, for: path)
        return document == former ? nil : document == .object([]) && additions.isCreated ? .file : .settings
    }

    /// The elements of an array that this project did not add.
    static func foreignElements(at keys: [String], of file: String, _ record: SettingsRecord) -> [String] {
        let own = record[file]?.elements[keys.joined(separator: "/")] ?? []
        return elements(at: keys, of: file).filter { !own.contains($0) }
    }

    /// The texts in an array of a file.
    static func elements(at keys: [String], of file: String) -> [String] {
        guard let document = try? document(file) else { return [] }
        return elements(at: keys, of: document).compactMap(\.string)
    }

    /// Returns the document with the settings.
    private func edited(_ document: JSONText) throws(CommandFailure) -> Edit {
        let former = record[path] ?? .init()
        var edit = Edit(document: document, additions: .init(isCreated: former.isCreated, objects: former.objects))
        for setting in settings {
            noteObjects(on: setting.path, of: document, in: &edit.additions)
            switch setting.content {
            case .value(let value): try set(value, of: setting, former, &edit)
            case .elements(let elements): try add(elements, to: setting, former, &edit)
            }
        }
        // What an earlier profile required.
        for (key, value) in former.values where !settings.contains(where: { $0.key == key }) {
            if edit.document[Self.path(key)]?.text() == value { _ = edit.document.set(nil, at: Self.path(key)) }
        }
        for (key, elements) in former.elements where !settings.contains(where: { $0.key == key }) {
            let rest = Self.elements(at: Self.path(key), of: edit.document).filter { $0.string.map { !elements.contains($0) } ?? true }
            _ = edit.document.set(rest.isEmpty ? nil : .array(rest), at: Self.path(key))
        }
        return edit
    }

    private func set(
        _ value: JSONText,
        of setting: Setting,
        _ former: SettingsRecord.Additions,
        _ edit: inout Edit
    ) throws(CommandFailure) {
        let present = edit.document[setting.path]
        let isOwn = former.values[setting.key] != nil && present?.text() == former.values[setting.key]
        guard present != value || isOwn else { return }
        guard present == nil || isOwn else {
            throw CommandFailure(
                .failed,
                "\(path): \(setting.name) has another value. Change it to \(value.text()), or remove it so that ksso can set it."
            )
        }
        guard edit.document.set(value, at: setting.path) else { throw notAnObject(setting) }
        edit.additions.values[setting.key] = value.text()
    }

    private func add(
        _ wanted: [String],
        to setting: Setting,
        _ former: SettingsRecord.Additions,
        _ edit: inout Edit
    ) throws(CommandFailure) {
        let own = former.elements[setting.key] ?? []
        let rest = Self.elements(at: setting.path, of: edit.document).filter { element in
            element.string.map { !own.contains($0) || wanted.contains($0) } ?? true
        }
        let present = rest.compactMap(\.string)
        let added = wanted.filter { !present.contains($0) }
        edit.additions.elements[setting.key] = added + own.filter { wanted.contains($0) && present.contains($0) }
        guard rest.count + added.count > 0 || edit.document[setting.path] != nil else { return }
        guard edit.document.set(.array(rest + added.map(JSONText.string)), at: setting.path) else { throw notAnObject(setting) }
    }

    private func notAnObject(_ setting: Setting) -> CommandFailure {
        CommandFailure(.failed, "\(path): \(setting.name) cannot be set, because a value that contains it is not an object.")
    }

    /// Records which objects, and which array, an addition creates.
    private func noteObjects(on keys: [String], of document: JSONText, in additions: inout SettingsRecord.Additions) {
        for count in 1...keys.count {
            let path = Array(keys.prefix(count))
            let key = path.joined(separator: "/")
            if document[path] == nil, !additions.objects.contains(key) { additions.objects.append(key) }
        }
    }

    private static func path(_ key: String) -> [String] { key.split(separator: "/").map(String.init) }

    private static func elements(at keys: [String], of document: JSONText) -> [JSONText] {
        guard case .array(let elements)? = document[keys] else { return [] }
        return elements
    }

    private func write(_ document: JSONText) throws(CommandFailure) {
        let former = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        // The file's own indentation, for example the tab of docker's.
        let line = former.split(separator: "\n").first { $0.first?.isWhitespace == true }
        let indentation = line.map { String($0.prefix(while: \.isWhitespace)) } ?? "  "
        try AtomicFile.write(Data("\(document.text(indentation: indentation))\n".utf8), to: path, mode: mode)
    }

    private func document() throws(CommandFailure) -> JSONText? { try Self.document(path) }

    /// Returns a file's document; nil if there is no file.
    static func document(_ path: String) throws(CommandFailure) -> JSONText? {
        guard access(path, F_OK) == 0 else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.failed, "\(path): the file cannot be read.")
        }
        if data.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) { return .object([]) }
        do throws(JSONText.SyntaxError) {
            let document = try JSONText(parsing: String(decoding: data, as: UTF8.self))
            guard case .object = document else { throw JSONText.SyntaxError(line: 1) }
            return document
        } catch {
            throw CommandFailure(.failed, "\(path): line \(error.line) is not valid JSON. Correct it, then try again.")
        }
    }
}

extension JSONSettingsFile.Content {
    /// The setting as JSON.
    fileprivate var json: JSONText {
        switch self {
        case .value(let value): value
        case .elements(let elements): .array(elements.map(JSONText.string))
        }
    }
}
