import Foundation

/// The built `ksso`: what the variable `KSSO_BINARY` names, else the file next to the test product. `ksso-realm` is in the same folder.
enum CommandBinary {
    struct Missing: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) does not exist. Build it with: make build, or name a ksso in KSSO_BINARY." }
    }

    /// The path of an executable file that is there.
    static func path() throws -> String {
        try checked(ProcessInfo.processInfo.environment["KSSO_BINARY"] ?? besideTestProduct)
    }

    /// The path of the `ksso-realm` that belongs to it.
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
