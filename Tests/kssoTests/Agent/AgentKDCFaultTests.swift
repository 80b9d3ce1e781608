import KerberosTesting
import Testing

/// Programs that have tickets keep working while the KDC is unavailable.
@Suite(.serialized, .protectedWeb, .timeLimit(.minutes(5)))
struct AgentKDCFaultTests {
    @Test(arguments: [true, false])
    func `programs with cached tickets keep working while the KDC is stopped or unresponsive`(isSilent: Bool) async throws {
        let station = try Workstation()
        try station.install(profile(hosts: ["localhost"]))
        let page = "\(try #require(WebTrait.server).url)/hello"
        try await station.withAgent { _ async throws in
            try await station.signIn()
            let programs = [
                ["ksso", "fetch", page], ["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page],
            ]
            for program in programs { #expect(try await station.run(program) == .done("Hello alice@EXAMPLE.TEST\n")) }
            if isSilent { try await station.realm.pauseKDC() } else { try await station.realm.stopKDC() }
            for program in programs { #expect(try await station.run(program) == .done("Hello alice@EXAMPLE.TEST\n")) }
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            let klist = try await station.run(["ksso", "exec", "--", "klist", "-s"])
            #expect(klist == .done(""))
            if isSilent { try await station.realm.resumeKDC() } else { try await station.realm.startKDC() }
            try await station.signIn()
            for program in programs { #expect(try await station.run(program) == .done("Hello alice@EXAMPLE.TEST\n")) }
        }
    }
}
