import Foundation
import Subprocess
import Testing

/// The agent's client needs no libkrb5: neither its module nor the package's modules that it imports refer to it.
@Suite struct LinkageTests {
    private static let build = Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(filePath: ".")

    /// The symbols that a module's object files leave undefined.
    private func undefinedSymbols(of module: String) async throws -> [Substring] {
        let folder = Self.build.appending(path: "\(module).build")
        let objects = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".o") }
        try #require(!objects.isEmpty, "\(folder.path) has no objects")
        let result = try await run(
            .name("nm"),
            arguments: .init(["--undefined-only"] + objects.map { folder.appending(path: $0).path }),
            output: .string(limit: 64 << 20),
            error: .discarded
        )
        return result.standardOutput.split(whereSeparator: \.isWhitespace)
    }

    private func isKerberos(_ symbol: Substring) -> Bool {
        symbol.hasPrefix("krb5_") || symbol.hasPrefix("gss_") || symbol.hasPrefix("$s8Kerberos")
    }

    @Test(arguments: ["SSOAgentClient", "HTTPNegotiate"])
    func `the agent's client modules refer to no Kerberos symbol`(module: String) async throws {
        #expect(try await undefinedSymbols(of: module).filter(isKerberos).isEmpty)
    }

    /// Shows that the search can find such a symbol.
    @Test func `the search finds the Kerberos symbols of a module that uses libkrb5`() async throws {
        #expect(try await undefinedSymbols(of: "Kerberos").contains(where: isKerberos))
    }
}
