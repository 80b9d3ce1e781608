import Foundation

/// The payloads of a file, before their keys are checked.
struct ProfileDocument {
    struct Entry {
        let index: Int
        let path: ProfileKeyPath
        let value: ProfileValue
    }

    struct Envelope {
        let path: ProfileKeyPath
        let keys: [String: ProfileValue]
    }

    enum Format {
        case propertyList
        case yaml
    }

    /// The maximum size of a profile, in bytes.
    static let maximumSize = 1 << 20

    let format: Format
    private(set) var entries: [Entry] = []
    private(set) var envelopes: [Envelope] = []

    init(data: Data, source: String) throws(ProfileError) {
        guard data.count <= Self.maximumSize else { throw .tooLarge(source) }
        if Self.isSigned(data) {
            throw ProfileError(.malformed, source: source, reason: "The file is signed twice. Remove one of the signatures.")
        }
        guard data.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
            throw ProfileError(.empty, source: source, reason: "The file is empty. Write a profile into it, or remove it.")
        }
        if Self.isPropertyList(data) {
            format = .propertyList
            try take(try ProfileValue(propertyList: data, source: source), at: ProfileKeyPath(), source: source)
            return
        }
        guard !Self.isNamedPropertyList(source) else {
            throw ProfileError(
                .malformed,
                source: source,
                reason:
                    "This is not a property list: it begins neither with < (XML) nor with bplist. The name of a YAML file must "
                    + "end in .yaml."
            )
        }
        format = .yaml
        guard let text = String(validating: data.drop(while: { [0xEF, 0xBB, 0xBF].contains($0) }), as: UTF8.self) else {
            throw ProfileError(.malformed, source: source, reason: "This is neither a property list nor UTF-8 text with YAML in it.")
        }
        let documents = try ProfileValue.documents(yaml: text, source: source)
        guard !documents.isEmpty else {
            throw ProfileError(.empty, source: source, reason: "The file contains only comments. Write a profile into it, or remove it.")
        }
        for (offset, document) in documents.enumerated() {
            let path = documents.count == 1 ? ProfileKeyPath() : ProfileKeyPath([.document(offset + 1)])
            try take(document, at: path, source: source)
        }
    }

    /// Adds the payloads of one top-level value: an envelope with several payloads, or a single payload.
    private mutating func take(_ value: ProfileValue, at path: ProfileKeyPath, source: String) throws(ProfileError) {
        guard let keys = value.dictionary else {
            throw ProfileError(
                .malformed,
                source: source,
                keyPath: path,
                reason: "Found \(value.typeName), expected a dictionary: one payload's keys, or PayloadContent with a list of payloads."
            )
        }
        if keys["EncryptedPayloadContent"] != nil {
            throw ProfileError(
                .encrypted,
                source: source,
                keyPath: path.appending(key: "EncryptedPayloadContent"),
                reason: "The payloads are encrypted for one device. Export the profile unencrypted."
            )
        }
        guard let content = keys["PayloadContent"] else {
            entries.append(Entry(index: entries.count, path: path, value: value))
            return
        }
        envelopes.append(Envelope(path: path, keys: keys))
        let list = path.appending(key: "PayloadContent")
        guard let payloads = content.array else {
            throw ProfileError(
                .wrongType,
                source: source,
                keyPath: list,
                reason: "Found \(content.typeName), expected an array of payloads."
            )
        }
        for (offset, payload) in payloads.enumerated() {
            entries.append(Entry(index: entries.count, path: list.appending(index: offset), value: payload))
        }
    }

    /// Whether the data is a signed profile: CMS in PEM, DER or BER. In the binary forms it begins with a sequence, whose length gives a
    /// second byte that no text has there.
    static func isSigned(_ data: Data) -> Bool {
        let head = Array(data.prefix(2))
        let isBinary = head.count == 2 && head[0] == 0x30 && head[1] >= 0x80
        return isBinary || data.starts(with: Array("-----BEGIN ".utf8))
    }

    /// Decides by the content. The file's name alone does not make it a property list.
    private static func isPropertyList(_ data: Data) -> Bool {
        if data.starts(with: Array("bplist".utf8)) || data.starts(with: [0xFE, 0xFF]) || data.starts(with: [0xFF, 0xFE]) { return true }
        let text = data.drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return text.first == UInt8(ascii: "<")
    }

    private static func isNamedPropertyList(_ source: String) -> Bool {
        source.hasSuffix(".mobileconfig") || source.hasSuffix(".plist")
    }
}

extension ProfileError {
    static func tooLarge(_ source: String) -> ProfileError {
        ProfileError(
            .tooLarge,
            source: source,
            reason: "The file is larger than 1 MiB, the limit for a profile. Check that it is a profile."
        )
    }
}
