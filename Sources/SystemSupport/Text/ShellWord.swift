/// A word of a command line to print: quoted for a POSIX shell if that is necessary.
package func shellWord(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
        $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._+-".unicodeScalars.contains($0))
    }
    return isPlain && !text.isEmpty ? text : shellQuoted(text)
}

/// Quotes a word for a POSIX shell.
package func shellQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
}
