import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso profile remove`.
@Suite(.testRealm())
struct ProfileRemoveTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private func remove(_ words: String...) async throws -> CommandResult {
        try await station.run(["ksso", "profile", "remove"] + words)
    }

    @Test(arguments: ["corp.yaml", "corp", "PATH"]) func `ksso profile remove prints what it removed`(name: String) async throws {
        let path = try station.install(profile(hosts: ["localhost", ".corp.test"]), as: "corp.yaml")
        let other = try station.install(profile(hosts: ["other.test"]), as: "other.yaml")
        let result = try await remove(name == "PATH" ? path : name)
        #expect(result == .done("\(path): removed\n    EXAMPLE.TEST: localhost .corp.test\n"))
        #expect(!FileManager.default.fileExists(atPath: path) && FileManager.default.fileExists(atPath: other))
        #expect(try await station.ksso("explain", "https://localhost/").exitStatus == 3)
    }

    @Test func `the sign-out by a running agent is announced with the last profile of a realm`() async throws {
        try station.install(profile(), as: "corp.yaml")
        try station.install(profile(hosts: ["other.test"]), as: "other.yaml")
        try await station.withAgent { _ async throws in
            #expect(try await remove("other").errors.isEmpty)
            let notice = try await remove("corp").errors
            #expect(notice.hasPrefix("The agent will sign out of EXAMPLE.TEST within a minute and destroy the tickets "), "\(notice)")
        }
    }

    @Test func `a broken profile can be removed`() async throws {
        let path = try station.install("nonsense", as: "broken.yaml")
        #expect(try await remove("broken") == .done("\(path): removed\n"))
    }

    @Test func `the link to a profile is removed, not the profile`() async throws {
        let target = try station.write(profile(), to: "real.yaml")
        let link = "\(station.directory)/config/ksso/link.yaml"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(try await remove("link").exitStatus == 0)
        #expect(FileManager.default.fileExists(atPath: target) && (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == nil)
    }

    @Test func `a name that no profile or several profiles have is reported`() async throws {
        let settings = "\(station.directory)/config/ksso"
        #expect(
            try await remove("corp")
                == .failure(1, "corp: there is no such profile in \(settings). To list the active ones: ksso profile show")
        )
        try station.write("", to: "secret.yaml")
        #expect(try await remove("../../secret.yaml").exitStatus == 1)
        let files = [try station.install(profile(), as: "corp.mobileconfig"), try station.install(profile(), as: "corp.yaml")]
        let message = "corp: several profiles have this name: \(files.joined(separator: ", ")). Add the ending."
        #expect(try await remove("corp") == .failure(64, message))
        for file in files { #expect(FileManager.default.fileExists(atPath: file)) }
    }

    @Test(.enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason)))
    func `only root removes the machine's profile, and never its policy`() async throws {
        let file = try station.write(profile(hosts: ["a.test"]), to: "corp.yaml")
        let script = """
            mount -t tmpfs none /mnt
            mkdir /mnt/upper /mnt/work
            mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
            rm -rf /etc/ksso; mkdir /etc/ksso; cp "$1" /etc/ksso/; echo 'RequireSignedProfiles: false' >/etc/ksso/policy.yaml
            chmod -R a+rX "$2"; chmod a+x "${2%/*}"
            setpriv --reuid=65534 --regid=65534 --clear-groups ksso profile remove corp || echo "refused: $?"
            ksso profile remove --system policy || echo "refused: $?"
            ksso profile remove corp
            ls /etc/ksso
            """
        let result = try await station.run(PrivateMounts.command(script, [file, station.directory]))
        let output = "refused: 1\nrefused: 1\n/etc/ksso/corp.yaml: removed\n    EXAMPLE.TEST: a.test\npolicy.yaml\n"
        #expect(result.output == output, "\(result)")
        #expect(result.errors.contains("only root can remove it: sudo ksso profile remove corp\n"), "\(result)")
    }

    @Test func `ksso profile show --json prints the active profiles with every key`() async throws {
        let path = try station.install(profile(hosts: ["localhost", ".corp.test"], data: ["principalName: alice"]))
        let result = try await station.ksso("profile", "show", "--json")
        #expect(result.exitStatus == 0 && result.errors == "")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: [[String: Any]]])
        let shown = try #require(document["profiles"]?.first)
        #expect(shown["file"] as? String == path && shown["signature"] is NSNull)
        let configuration = try #require((shown["configurations"] as? [[String: Any]])?.first)
        #expect(configuration["realm"] as? String == "EXAMPLE.TEST")
        #expect(configuration["hosts"] as? [String] == ["localhost", ".corp.test"])
        #expect(configuration["principalName"] as? String == "alice")
    }

    @Test func `ksso profile show --json prints the signature of a profile, and an empty list without a profile`() async throws {
        let signed = repositoryFile("Tests/ExtensionProfileTests/Fixtures/signed.mobileconfig")
        let result = try await station.ksso("profile", "show", "--json", "--profile", signed)
        #expect(result.output.contains(#""subject" : "CN=Example""#), "\(result)")
        let nothing = try await station.ksso("profile", "show", "--json")
        #expect(nothing.exitStatus == 0 && nothing.output.contains(/"profiles" : \[\s*\]/) && nothing.errors == "", "\(nothing)")
    }
}
