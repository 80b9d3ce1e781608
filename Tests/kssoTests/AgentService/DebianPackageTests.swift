import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The Debian packages that `make deb` builds, here from the debug binary.
@Suite(
    .enabled(
        if: StockProgram.isInstalled("dpkg-shlibdeps") && StockProgram.isInstalled("dpkg-deb"),
        "dpkg-shlibdeps is missing: package dpkg-dev"
    ),
    .testRealm(users: ["alice": "secret"])
)
struct DebianPackageTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    /// Builds a package without compression, because a debug binary is large.
    private func makePackage(of binary: String? = nil) async throws -> String {
        let script = repositoryFile("Scripts/make-deb")
        let arguments = try [script, binary ?? CommandBinary.path(), "\(station.directory)/packages"]
        let result = try await station.run(arguments, environment: ["DPKG_DEB_COMPRESSOR_TYPE": "none"])
        #expect(result.exitStatus == 0, "\(result)")
        return result.output.trimmingCharacters(in: .newlines)
    }

    /// The number that `ksso --version` prints.
    private func programVersion() async throws -> String {
        let output = try await station.ksso("--version").output
        return String(try #require(output.split(separator: " ").dropFirst().first))
    }

    @Test func `the ksso package contains exactly the expected files`() async throws {
        let package = try await makePackage()
        let version = try await programVersion()
        #expect(package.contains("/ksso_\(version)-1_"))
        let fields = try await station.run(["dpkg-deb", "-f", package, "Package", "Version", "Depends"]).output
        #expect(fields.hasPrefix("Package: ksso\nVersion: \(version)-1\n"))
        let libraries = ["libc6 (>= ", "libgssapi-krb5-2 (>= ", "libkrb5-3 (>= "]
        #expect(libraries.allSatisfy { fields.contains($0) }, "\(fields)")

        let list = try await station.run(["dpkg-deb", "-c", package]).output.split(separator: "\n")
        let files = list.filter { !$0.hasSuffix("/") }.map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        #expect(files.allSatisfy { $0[1] == "root/root" })
        let modes = Dictionary(uniqueKeysWithValues: files.map { ($0[5].dropFirst(), $0[0]) })
        #expect(
            modes.keys.sorted() == [
                "/usr/bin/ksso", "/usr/lib/systemd/system/ksso-agent@.service", "/usr/lib/systemd/system/ksso-agent@.socket",
                "/usr/lib/systemd/system/ksso-kcm.service", "/usr/lib/systemd/system/ksso-kcm.socket",
                "/usr/lib/systemd/user/ksso-agent-graphical.service", "/usr/lib/systemd/user/ksso-agent-system.service",
                "/usr/lib/systemd/user/ksso-agent.service", "/usr/lib/systemd/user/ksso-agent.socket",
                "/usr/lib/systemd/user/ksso-proxy.service", "/usr/lib/systemd/user/ksso-proxy.socket",
                "/usr/share/bash-completion/completions/ksso", "/usr/share/doc/ksso/NOTICE.gz", "/usr/share/doc/ksso/changelog.Debian.gz",
                "/usr/share/doc/ksso/changelog.gz", "/usr/share/doc/ksso/copyright",
                "/usr/share/fish/vendor_completions.d/ksso.fish", "/usr/share/lintian/overrides/ksso", "/usr/share/man/man1/ksso.1.gz",
                "/usr/share/man/man5/ksso-profile.5.gz", "/usr/share/zsh/vendor-completions/_ksso",
            ]
        )
        #expect(modes.filter { $0.value == "-rwxr-xr-x" }.map(\.key) == ["/usr/bin/ksso"])
    }

    @Test func `ksso-realm is a separate package that depends on ksso`() async throws {
        let package = try await makePackage(of: CommandBinary.realmPath())
        let version = try await programVersion()
        #expect(package.contains("/ksso-realm_\(version)-1_"))
        let fields = try await station.run(["dpkg-deb", "-f", package]).output
        #expect(fields.hasPrefix("Package: ksso-realm\nVersion: \(version)-1\n"))
        let needed = ["libkrb5-3 (>= ", "ksso (= \(version)-1)", "krb5-kdc", "krb5-admin-server"]
        let depends = fields.split(separator: "\n").first { $0.hasPrefix("Depends: ") } ?? ""
        #expect(needed.allSatisfy { depends.contains($0) }, "\(fields)")
        #expect(fields.contains("\nRecommends: apache2-bin, libapache2-mod-auth-gssapi, "))

        let list = try await station.run(["dpkg-deb", "-c", package]).output.split(separator: "\n")
        let files = list.filter { !$0.hasSuffix("/") }.map { $0.split(separator: " ", omittingEmptySubsequences: true)[5].dropFirst() }
        #expect(
            files.sorted() == [
                "/usr/bin/ksso-realm", "/usr/share/doc/ksso-realm/NOTICE.gz", "/usr/share/doc/ksso-realm/changelog.Debian.gz",
                "/usr/share/doc/ksso-realm/changelog.gz",
                "/usr/share/doc/ksso-realm/copyright", "/usr/share/lintian/overrides/ksso-realm", "/usr/share/man/man1/ksso-realm.1.gz",
            ]
        )
    }

    @Test(arguments: [
        ("0.1.0", "gt", "0.1.0~rc1-1"), ("0.1.0+1.gabcdef0", "gt", "0.1.0-1"), ("0.1.0+1.gabcdef0", "lt", "0.1.1-1"),
        ("0.1.0+12.gabcdef0", "gt", "0.1.0+git20261123.9.gffffff0-1"), ("0.1.0+3.gabcdef0", "gt", "0.1.0+git20261122.9.gffffff0-1"),
    ]) func `a package of a later commit sorts above the release and above earlier packages`(
        program: String,
        relation: String,
        other: String
    ) async throws {
        // No commit has this name, so the given time is used.
        let script = repositoryFile("Scripts/version")
        let result = try await station.run([script, "--debian", program], environment: ["SOURCE_DATE_EPOCH": "1795392000"])
        let version = result.output.trimmingCharacters(in: .newlines)
        #expect(program.contains("+") == version.contains("+git20261123."), "\(result)")
        #expect(try await station.run(["dpkg", "--compare-versions", version, relation, other]).exitStatus == 0, "\(version)")
    }

    /// The placeholders of the scripts are replaced by the names of all units in the package.
    @Test func `the maintainer scripts handle every systemd unit of the package`() async throws {
        let package = try await makePackage()
        let folder = "\(station.directory)/control"
        #expect(try await station.run(["dpkg-deb", "-e", package, folder]) == .done(""))
        for name in ["postinst", "prerm", "postrm"] {
            let script = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            #expect(!script.contains("UNITS@") && !script.contains("SERVICES@"))
            #expect(try await station.run(["sh", "-n", "\(folder)/\(name)"]) == .done(""))
        }
        let removal = try String(contentsOfFile: "\(folder)/prerm", encoding: .utf8)
        let list = try await station.run(["dpkg-deb", "-c", package]).output.split(separator: "\n")
        let units = list.compactMap { $0.firstMatch(of: /systemd\/(?:system|user)\/(ksso-[^ ]*)$/)?.1 }
        #expect(units.count >= 8)
        for unit in units { #expect(removal.contains(unit.replacing("@.", with: "@*.")), "\(unit)") }
        let upgrade = try String(contentsOfFile: "\(folder)/postinst", encoding: .utf8)
        #expect(upgrade.contains("ksso-agent@*.service") && upgrade.contains("ksso-kcm.service") && !upgrade.contains(".socket"))
    }

    /// The package is installed over the machine's own files, in overlays that only the child process sees.
    @Test(.enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason)))
    func `the package can be installed, used, removed, reinstalled and purged`() async throws {
        let package = try await makePackage()
        let script = """
            exec 2>&1
            mount -t tmpfs none /mnt
            # Hide the machine's systemd, whose units the package would stop.
            mount -t tmpfs none /run
            for folder in usr etc var; do
                mkdir /mnt/$folder /mnt/$folder.work
                mount -t overlay overlay -o lowerdir=/$folder,upperdir=/mnt/$folder,workdir=/mnt/$folder.work /$folder
            done
            export DEBIAN_FRONTEND=noninteractive
            dpkg -i "$1"
            dpkg --verify ksso
            echo "version $(/usr/bin/ksso --version)"
            echo "manual $(man ksso | head -n 1)"
            bash -c '. /usr/share/bash-completion/completions/ksso; complete -p ksso'
            export PATH=/usr/bin:/bin:/usr/sbin:/sbin
            ksso agent run --background
            echo secret | ksso login alice --password-stdin --quiet
            ksso exec -- klist
            ksso agent stop
            ksso agent run --background
            echo key > /etc/ksso/app.keytab
            mkdir -p /etc/systemd/system/sockets.target.wants
            ln -s /usr/lib/systemd/system/ksso-kcm.socket /etc/systemd/system/sockets.target.wants/
            dpkg -r ksso
            test ! -e /usr/bin/ksso -a ! -e /usr/lib/systemd/user/ksso-agent.socket && echo gone
            test ! -L /etc/systemd/system/sockets.target.wants/ksso-kcm.socket && echo disabled
            for process in /proc/[0-9]*; do
                test "$(readlink $process/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" || continue
                case $(readlink $process/exe) in /usr/bin/ksso*) echo "$process still runs" ;; esac
            done
            dpkg -i "$1"
            test -e /etc/systemd/system/sockets.target.wants/ksso-kcm.socket && echo enabled again
            dpkg -P ksso
            test -e /etc/ksso/app.keytab && echo the keytab stays
            """
        let result = try await station.run(PrivateMounts.command(script, [package]))
        #expect(result.exitStatus == 0)
        let version = try await station.ksso("--version").output
        let steps = [
            "Setting up ksso", "version \(version)", "manual KSSO(1)", "complete -o filenames -F __ksso_complete_line ksso",
            "Ticket cache: KCM:",
            "Default principal: alice@EXAMPLE.TEST", "The agent has stopped.", "Removing ksso", "gone", "disabled",
            "enabled again", "Purging configuration files for ksso", "/etc/ksso/app.keytab\n", "the keytab stays",
        ]
        var rest = Substring(result.output)
        for step in steps {
            let place = try #require(rest.range(of: step), "\(step) is missing in: \(result.output)")
            rest = rest[place.upperBound...]
        }
        #expect(!result.output.contains("still runs"), "\(result.output)")
        #expect(!FileManager.default.fileExists(atPath: "/usr/share/doc/ksso"))
    }
}
