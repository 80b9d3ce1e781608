import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// pip and apt, which know no Kerberos, with the settings that `ksso configure` writes, behind a squid that requires a ticket.
@Suite(
    .enabled(if: StockProgram.isInstalled("squid"), "squid is missing: package squid"),
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .timeLimit(.minutes(5))
)
struct PackageManagerTests {
    /// The name of the package.
    private static let name = "ksso-greeting"

    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install("ProxyHosts: [localhost]\n" + profile())
    }

    /// Runs a closure while the local proxy serves in front of a squid that resolves `packages.example.test`.
    private func withProxy(_ arguments: [String] = [], _ body: @Sendable (String, SquidProxy) async throws -> Void) async throws {
        try await station.signIn()
        var options = SquidProxyOptions()
        options.names = ["packages.example.test"]
        try await withSquidProxy(realm: station.realm, options) { squid in
            let end = try await station.withLocalProxy(["--upstream", "\(squid.host):\(squid.port)"] + arguments) { proxy in
                try await body(proxy, squid)
            }
            #expect(end.status == 0, "\(end.output)")
        }
    }

    /// Runs a shell script in a folder, and expects success.
    private func make(_ script: String, in folder: String) async throws {
        let result = try await station.run(["sh", "-ec", "cd \"$1\"\n\(script)", "sh", folder])
        try #require(result.exitStatus == 0, "\(result)")
    }

    /// An index (PEP 503) with one wheel, which is a zip archive.
    private static let index = """
        mkdir -p index/simple/\(name) ksso_greeting-1.0.dist-info
        head -c 2000000 /dev/urandom >ksso_greeting.bin
        echo 'text = "hello"' >ksso_greeting.py
        cd ksso_greeting-1.0.dist-info
        printf '%s\\n' 'Metadata-Version: 2.1' 'Name: \(name)' 'Version: 1.0' >METADATA
        printf '%s\\n' 'Wheel-Version: 1.0' 'Generator: test' 'Root-Is-Purelib: true' 'Tag: py3-none-any' >WHEEL
        printf '%s,,\\n' ksso_greeting.py ksso_greeting.bin ksso_greeting-1.0.dist-info/METADATA ksso_greeting-1.0.dist-info/WHEEL \
            ksso_greeting-1.0.dist-info/RECORD >RECORD
        cd ..
        wheel=ksso_greeting-1.0-py3-none-any.whl
        python3 -m zipfile -c index/$wheel ksso_greeting.py ksso_greeting.bin ksso_greeting-1.0.dist-info
        echo "<!DOCTYPE html><html><body><a href=\\"../../$wheel\\">$wheel</a></body></html>" >index/simple/\(name)/index.html
        """

    /// The index requires a ticket of its own, does not, or is reached through a tunnel.
    @Test(
        .enabled(if: StockProgram.isInstalled("pip3"), "pip is not installed"),
        arguments: [("files", false), ("open/files", false), ("open/files", true)]
    )
    func `pip installs a wheel through a squid that requires a ticket`(place: String, usesTLS: Bool) async throws {
        try await make(Self.index, in: station.directory)
        var options = ProtectedWebServerOptions(usesTLS: usesTLS)
        options.files = "\(station.directory)/index"
        try await withProtectedWebServer(realm: station.realm, options) { server in
            try await withProxy { proxy, squid in
                let configured = try await station.ksso("configure", "pip", "--user", "--install", "--proxy", proxy)
                #expect(configured.exitStatus == 0, "\(configured)")
                let target = "\(station.directory)/site"
                // pyenv's pip3 would also write to a folder that all its users share.
                var command = [
                    "python3", "-m", "pip", "install", "--target", target, "--no-cache-dir", "--index-url",
                    "\(server.url)/\(place)/simple/",
                ]
                var environment = ["no_proxy": ""]
                if usesTLS {
                    command += ["--cert", server.certificatePath]
                    // Has precedence over the option.
                    environment["REQUESTS_CA_BUNDLE"] = server.certificatePath
                }
                let result = try await station.run(command + [Self.name], environment: environment)
                #expect(result.exitStatus == 0, "\(result)")
                try await make("cmp ksso_greeting.bin site/ksso_greeting.bin", in: station.directory)
                let request = usesTLS ? "200 CONNECT localhost:\(server.port)" : "200 GET \(server.url)/\(place)/simple/\(Self.name)/"
                try await eventually { try squid.accessLog().contains("\(request) alice@EXAMPLE.TEST ") }
            }
        }
    }

    /// A flat repository with one package.
    private static let repository = """
        mkdir -m 755 -p index package/DEBIAN
        chmod 755 package/DEBIAN
        head -c 2000000 /dev/urandom >package/greeting
        printf '%s\\n' 'Package: \(name)' 'Version: 1.0' 'Architecture: all' 'Maintainer: Alice <alice@example.test>' \
            'Description: greeting' >package/DEBIAN/control
        dpkg-deb --build package index/greeting.deb >/dev/null
        sum=$(sha256sum <index/greeting.deb)
        { cat package/DEBIAN/control; echo 'Filename: ./greeting.deb'; echo "Size: $(stat -c %s index/greeting.deb)"; echo "SHA256: ${sum%% *}"; } \
            >index/Packages
        """

    /// As root, apt connects as the user `_apt`, which must reach the folder. The settings replace those of the machine in a private
    /// `/etc`.
    private static let update = """
        umask 022
        rm -rf /etc/apt/apt.conf /etc/apt/apt.conf.d /etc/apt/sources.list.d
        echo "deb [trusted=yes] $1 ./" >/etc/apt/sources.list
        ksso configure apt --install --proxy "$2" >/dev/null 2>&1
        cd "$3"
        mkdir state cache download
        touch status
        chmod 755 "$3"
        chown _apt download
        export APT_CONFIG="$3/apt.conf"
        printf '%s\\n' "Dir::State \\"$3/state\\";" "Dir::Cache \\"$3/cache\\";" "Dir::State::status \\"$3/status\\";" >apt.conf
        chmod 644 apt.conf
        apt-get update
        cd download
        apt-get download \(name)
        """

    @Test(
        .enabled(if: StockProgram.isInstalled("apt-get"), "apt is not installed"),
        .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason))
    )
    func `apt updates and downloads through a squid that requires a ticket`() async throws {
        try await make(Self.repository, in: station.directory)
        var options = ProtectedWebServerOptions()
        options.files = "\(station.directory)/index"
        try await withProtectedWebServer(realm: station.realm, options) { server in
            try await withProxy(["--admit", "_apt"]) { proxy, squid in
                let url = "http://packages.example.test:\(server.port)/open/files"
                try await withFolder { folder in
                    let environment = ["no_proxy": "", "LC_ALL": "C"]
                    let result = try await MachineSettings.run(Self.update, url, proxy, folder, on: station, environment: environment)
                    #expect(result.exitStatus == 0 && !result.errors.contains("unsandboxed"), "\(result)")
                    let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/download")
                    let file = try #require(names.first, "\(result)")
                    try await make("cmp index/greeting.deb '\(folder)/download/\(file)'", in: station.directory)
                }
                for file in ["Packages", "greeting.deb"] {
                    try await eventually { try squid.accessLog().contains("/\(file) alice@EXAMPLE.TEST ") }
                }
            }
        }
    }
}
