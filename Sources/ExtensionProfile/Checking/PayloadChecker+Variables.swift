import SignOnPolicy

/// Finds variables such as `{{username}}`, which a Mac's management server replaces in a profile. Nothing replaces them on Linux.
extension PayloadChecker {
    func variableAdvice() -> [ProfileAdvice] {
        let data = keys["ExtensionData"]?.dictionary ?? [:]
        let payload = keys.filter { $0.key != "ExtensionData" }
        return advice(on: payload, in: .payload, at: path)
            + advice(on: data, in: .extensionData, at: path.appending(key: "ExtensionData"))
    }

    private func advice(
        on keys: [String: ProfileValue],
        in place: ProfileKey.Place,
        at path: ProfileKeyPath
    ) -> [ProfileAdvice] {
        keys.sorted { $0.key < $1.key }
            .filter { ProfileKey.named($0.key, in: place)?.isUsed == true }
            .flatMap { name, value in texts(in: value, at: path.appending(key: name)) }
            .compactMap { path, text in
                guard let variable = Self.variable(in: text) else { return nil }
                let sentence =
                    "\(variable) looks like a variable of device management, which nothing replaces on Linux. "
                    + "Write the value, or omit the key."
                return ProfileAdvice(.warning, path: path, payloadIndex: index, sentence)
            }
    }

    /// The texts in a value, each with its place.
    private func texts(in value: ProfileValue, at path: ProfileKeyPath) -> [(path: ProfileKeyPath, text: String)] {
        if let text = value.string { return [(path, text)] }
        if let elements = value.array {
            return elements.enumerated().flatMap { texts(in: $0.element, at: path.appending(index: $0.offset)) }
        }
        return (value.dictionary ?? [:]).sorted { $0.key < $1.key }.flatMap { texts(in: $0.value, at: path.appending(key: $0.key)) }
    }

    /// The first variable, as common management servers write them: `{{username}}`, `%username%`, `$USERNAME`.
    private static func variable(in text: String) -> Substring? {
        // Most texts contain none of these characters, and compiling the expression is 6 percent of the instructions of ksso header.
        guard text.utf8.contains(where: "{%$".utf8.contains) else { return nil }
        return text.firstMatch(of: /\{\{[^{}]+\}\}|%[A-Za-z_]+%|\$[A-Z][A-Z_]+/)?.output
    }
}
