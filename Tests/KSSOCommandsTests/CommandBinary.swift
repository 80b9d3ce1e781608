import Foundation

/// The built `ksso`: what the variable `KSSO_BINARY` names, else the file beside the test product.
enum CommandBinary {
    struct Missing: Error, CustomStringConvertible {
        let path: String
        var description: String { "There is no ksso at \(path). Build it with: swift build --product ksso, or name it in KSSO_BINARY." }
    }

    /// The path of an executable file that is there.
    static func path() throws -> String {
        let path = ProcessInfo.processInfo.environment["KSSO_BINARY"] ?? besideTestProduct
        guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(path: path) }
        return path
    }

    private static var besideTestProduct: String {
        let product = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: product).deletingLastPathComponent().appending(path: "ksso").path
    }
}
