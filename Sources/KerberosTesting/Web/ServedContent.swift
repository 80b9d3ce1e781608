import Foundation

/// Files, git repositories and a WebSocket that a test web server offers in addition to its pages.
struct ServedContent {
    /// The CGI program of git, where Debian installs it.
    static let gitBackend = "/usr/lib/git-core/git-http-backend"

    /// The folder to copy; nil without files.
    let files: String?
    let repositories: [String]
    /// The port of a WebSocket server on 127.0.0.1; nil without one.
    let webSocketPort: Int?
    /// The server's folder.
    let directory: String

    /// The modules that ``directives`` require.
    var modules: [String] {
        (files == nil ? [] : ["dir"]) + (repositories.isEmpty ? [] : ["cgi", "env"])
            + (webSocketPort == nil ? [] : ["proxy", "proxy_http"])
    }

    /// Copies the files and creates the repositories.
    func write(with realm: TestRealm) async throws {
        if let files { try FileManager.default.copyItem(atPath: files, toPath: "\(directory)/files") }
        for name in repositories {
            let path = "\(directory)/repositories/\(name).git"
            for arguments in [
                ["init", "--quiet", "--bare", "--initial-branch=main", path],
                // A push without authentication.
                ["-C", path, "config", "http.receivepack", "true"],
            ] { _ = try await Command.require("git", arguments, environment: realm.environment, scratch: realm.directory) }
        }
    }

    /// The directives of Apache's configuration.
    var directives: String {
        let socket = webSocketPort.map { "ProxyPassMatch \"^/socket$\" \"http://127.0.0.1:\($0)/\" upgrade=websocket" }
        return [files == nil ? "" : fileDirectives, repositories.isEmpty ? "" : gitDirectives, socket ?? ""].joined(separator: "\n")
    }

    private var fileDirectives: String {
        """
        Alias "/files/" "\(directory)/files/"
        Alias "/open/files/" "\(directory)/files/"
        <Directory "\(directory)/files">
            AllowOverride None
            DirectoryIndex index.html
            AddType text/html .html
            Require all granted
        </Directory>
        """
    }

    private var gitDirectives: String {
        """
        SetEnv GIT_PROJECT_ROOT "\(directory)/repositories"
        SetEnv GIT_HTTP_EXPORT_ALL 1
        ScriptAlias "/git/" "\(Self.gitBackend)/"
        ScriptAlias "/open/git/" "\(Self.gitBackend)/"
        <Directory "\(URL(fileURLWithPath: Self.gitBackend).deletingLastPathComponent().path)">
            Require all granted
        </Directory>
        """
    }
}
