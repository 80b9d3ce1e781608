internal import Foundation

/// Quotes a word for a POSIX shell.
package func shellQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
}
