/// What `--keytab` takes: a path, or libkrb5's name of a file, `FILE:/etc/app.keytab`.
enum KeytabName {
    /// The path of the file; nil for a keytab of another type, which is none.
    static func path(_ name: String) -> String? {
        let type = name.prefix { $0 != ":" && $0 != "/" }
        guard name.dropFirst(type.count).first == ":" else { return name }
        return type == "FILE" ? String(name.dropFirst(type.count + 1)) : nil
    }
}
