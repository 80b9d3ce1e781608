import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// ksso on a kernel without keyrings, or in a container that may not use them.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .enabled(if: WithoutKeyrings.arePossible, "perl is missing, or no filter of system calls can be set (seccomp(2))")
)
struct WithoutKeyringsTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile(data: ["principalName: alice"]))
    }

    private func ksso(_ arguments: String..., errno: Int32, input: String? = nil) async throws -> CommandResult {
        try await station.run(WithoutKeyrings.command(errno: errno, ["ksso"] + arguments), input: input)
    }

    /// Only storing the password fails.
    @Test(arguments: [(ENOSYS, "Function not implemented"), (EPERM, "Operation not permitted")])
    func `without keyrings --remember signs in and reports that the password is not stored`(errno: Int32, text: String) async throws {
        let result = try await ksso("login", "--remember", "--password-stdin", errno: errno, input: "secret\n")
        #expect(
            result.exitStatus != 0 && result.errors.contains("the kernel has no keyrings, or does not allow them here (\(text))"),
            "\(result)"
        )
        #expect(!(result.output + result.errors).contains("secret\n"))
        #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
    }

    /// These commands do not require a keyring.
    @Test(arguments: [ENOSYS, EPERM]) func `without keyrings login, header and logout work`(errno: Int32) async throws {
        let login = try await ksso("login", "--password-stdin", "--quiet", errno: errno, input: "secret\n")
        #expect(login == .done(""), "\(login)")
        let header = try await ksso("header", "http://localhost/", errno: errno)
        #expect(header.exitStatus == 0 && header.output.hasPrefix("Authorization: Negotiate "), "\(header)")
        #expect(try await ksso("logout", errno: errno) == .done("alice@EXAMPLE.TEST is signed out.\n"))
        let none = try await ksso("header", "http://localhost/", errno: errno)
        #expect(none.exitStatus == 5, "\(none)")
    }
}
