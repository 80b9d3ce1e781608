internal import Foundation
internal import SystemSupport

/// The programs that cannot share the tickets, because environment variables do not configure them.
struct SharingLimits {
    let environment: [String: String]

    /// All of them, for the help.
    static let text = """
        These programs cannot share the tickets: setuid programs, because libkrb5 ignores KRB5_CONFIG there; rpc.gssd, for Kerberized NFS, \
        which uses the system's own caches (ksso agent run --system leaves the tickets there); snaps, which can access neither the folder \
        nor the socket. For programs that support only caches of the type FILE, such as those of Java and Go, or that include Heimdal's \
        Kerberos, such as samba-tool, use: ksso exec --file
        """

    /// A sentence for each kind of such a program that this machine has.
    var notes: [String] {
        var notes: [String] = []
        let programs = setuidPrograms
        if !programs.isEmpty {
            let names = programs.joined(separator: ", ")
            notes.append("These setuid programs cannot share the tickets, because libkrb5 ignores KRB5_CONFIG there: \(names)")
        }
        if folders.union(["/usr/sbin", "/sbin"]).contains(where: { access("\($0)/rpc.gssd", X_OK) == 0 }) {
            notes.append(
                "rpc.gssd cannot share the tickets: for Kerberized NFS, ksso agent run --system leaves them in the system's caches."
            )
        }
        if (try? FileManager.default.contentsOfDirectory(atPath: "/snap/bin"))?.isEmpty == false {
            notes.append("Programs of snaps cannot share the tickets, because they can access neither the agent's folder nor its socket.")
        }
        return notes
    }

    private var folders: Set<String> {
        Set((environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") })
    }

    /// The programs in PATH that run as another user and load libkrb5, by their paths.
    private var setuidPrograms: [String] {
        var found: [FileIdentity: String] = [:]
        for folder in folders.sorted() {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                let path = "\(folder)/\(name)"
                guard isSetuid(path), let identity = FileIdentity(path: path, followsLinks: true), found[identity] == nil else { continue }
                if loadsLibrary(path) { found[identity] = path }
            }
        }
        return found.values.sorted()
    }

    /// Whether a program runs as another user than this one, so that the C library hides the environment's settings from it.
    private func isSetuid(_ path: String) -> Bool {
        guard let status = FileStatus(path: path), status.isFile else { return false }
        return status.setsUser && status.owner != geteuid() && access(path, X_OK) == 0
    }

    /// Whether a program names libkrb5 or its GSSAPI library. The names of libraries are plain text in an executable file.
    private func loadsLibrary(_ path: String) -> Bool {
        guard let content = try? Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe) else { return false }
        return ["libkrb5.so", "libgssapi_krb5.so"].contains { content.range(of: Data($0.utf8)) != nil }
    }
}
