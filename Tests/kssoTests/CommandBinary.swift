import Foundation

/// The built `ksso`: the file that the variable `KSSO_BINARY` names, or else the one next to the test product. `ksso-realm` is in the same
/// folder.
enum CommandBinary {
    struct Missing: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) does not exist. Build it with: make build, or name a ksso in KSSO_BINARY." }
    }

    /// The path of `ksso`, which exists and is executable.
    static func path() throws -> String {
        try checked(ProcessInfo.processInfo.environment["KSSO_BINARY"] ?? besideTestProduct)
    }

    /// The path of the `ksso-realm` in the same folder.
    static func realmPath() throws -> String {
        let command = URL(fileURLWithPath: try path()).resolvingSymlinksInPath()
        return try checked(command.deletingLastPathComponent().appending(path: "ksso-realm").path)
    }

    private static func checked(_ path: String) throws -> String {
        guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(path: path) }
        return path
    }

    private static var besideTestProduct: String {
        let product = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: product).deletingLastPathComponent().appending(path: "ksso").path
    }
}
