import Foundation
import KerberosTesting

/// A Debian program that a test needs, either installed or unpacked by `Scripts/install-packages`.
struct StockProgram {
    let path: String
    /// The environment variables that an unpacked program needs to find its libraries.
    let variables: [String: String]

    static let nginx = StockProgram("nginx")
    static let sshd = StockProgram("sshd")
    static let pinentry = StockProgram("pinentry-tty")
    static let secretTool = StockProgram("secret-tool")
    static let keyringDaemon = StockProgram("gnome-keyring-daemon")
    /// The PC/SC service.
    static let cardService = StockProgram("pcscd")
    /// A single program that acts as several tools, depending on the name that it is called by.
    static let heimdalTools = StockProgram("heimtools")

    /// Prefers an installed program to an unpacked one.
    private init?(_ name: String) {
        let root = repositoryFile(".build/unpacked")
        let unpacked = ["bin", "sbin"].map { "\(root)/usr/\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile(atPath:))
        if let installed = try? Program.path(of: name) {
            (path, variables) = (installed, [:])
        } else if let unpacked {
            let folders = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/usr/lib")) ?? []
            let libraries = folders.sorted().map { "\(root)/usr/lib/\($0)" }
            (path, variables) = (unpacked, ["LD_LIBRARY_PATH": libraries.joined(separator: ":")])
        } else {
            return nil
        }
    }

    /// The folder with the programs of the newest installed PostgreSQL version.
    static let databasePrograms: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        return versions.max().map { "\(root)/\($0)/bin" }
    }()

    /// Whether a program is installed in the system.
    static func isInstalled(_ name: String) -> Bool { (try? Program.path(of: name)) != nil }
}
