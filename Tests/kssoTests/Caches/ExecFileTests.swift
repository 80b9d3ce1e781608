import Foundation
import KerberosTesting
import TestSupport
import Testing

/// `ksso exec --file` gives a private FILE cache to programs that support no other type.
@Suite(.protectedWeb, .timeLimit(.minutes(5)))
struct ExecFileTests {
    enum Place: CaseIterable {
        case agent, ownProcess
    }

    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    private func at(_ place: Place, _ body: () async throws -> Void) async throws {
        switch place {
        case .agent: try await station.withAgent { _ in try await body() }
        case .ownProcess: try await body()
        }
    }

    /// The private caches, including partial copies.
    private func files() throws -> [String] {
        guard FileManager.default.fileExists(atPath: station.runtime) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: station.runtime).filter { $0.contains("exec-") }
    }

    private func caches() throws -> [String] { try files().filter { $0.hasPrefix("exec-") } }

    private func exec(_ command: String...) async throws -> CommandResult {
        try await station.run(["ksso", "exec", "--file", "--"] + command)
    }

    @Test(arguments: Place.allCases) func `the command finds the ticket in a private FILE cache`(place: Place) async throws {
        try await at(place) {
            try await station.signIn()
            let result = try await exec("sh", "-c", "stat -c %a ${KRB5CCNAME#FILE:}; klist")
            let lines = result.output.split(separator: "\n")
            #expect(lines.first == "600" && result.exitStatus == 0, "\(result)")
            #expect(lines.contains("Default principal: alice@EXAMPLE.TEST"))
            #expect(lines.contains { $0.hasPrefix("Ticket cache: FILE:\(station.runtime)/exec-") })
            #expect(try await exec("curl", "-sS", "--negotiate", "-u", ":", "\(server.url)/hello") == .done("Hello alice@EXAMPLE.TEST\n"))
            try await eventually { try files() == [] }
        }
    }

    @Test(arguments: Place.allCases) func `the file follows sign-in, refresh and sign-out`(place: Place) async throws {
        try await at(place) {
            let shell = "while read -r word; do klist 2>&1 | grep -e krbtgt -e 'No cred'; echo done; done"
            let end = try await Conversation.with(["ksso", "exec", "--file", "--", "sh", "-c", shell], on: station) { command in
                func wait(for text: String) async throws {
                    try await eventually {
                        try await command.type("look\n")
                        return try await command.wait(for: "done\n").contains(text)
                    }
                }
                try await wait(for: "No credentials cache found")
                try await station.signIn()
                try await wait(for: "krbtgt/EXAMPLE.TEST@EXAMPLE.TEST")
                let name = try #require(try caches().first)
                let before = FileManager.default.contents(atPath: "\(station.runtime)/\(name)")
                #expect(try await station.ksso("refresh").exitStatus == 0)
                try await eventually { FileManager.default.contents(atPath: "\(station.runtime)/\(name)") != before }
                try await wait(for: "krbtgt/EXAMPLE.TEST@EXAMPLE.TEST")
                #expect(try await station.ksso("logout").exitStatus == 0)
                try await wait(for: "No credentials cache found")
                kill(command.process, SIGTERM)
            }
            #expect(end.status == 143)
            try await eventually { try files() == [] }
        }
    }

    @Test(arguments: [SIGTERM, SIGKILL, SIGINT]) func `the file is removed when a signal terminates the command`(signal: Int32) async throws
    {
        try await station.signIn()
        let end = try await Conversation.with(["ksso", "exec", "--file", "--", "sh", "-c", "echo ready; read -r word"], on: station) {
            command in
            try await command.wait(for: "ready\n")
            #expect(try caches().count == 1)
            kill(command.process, signal)
        }
        #expect(end.status == 128 + Int(signal))
        try await eventually { try files() == [] }
    }

    /// The keeper removes the file when the command exits. If the keeper was killed, the next ksso command does so.
    @Test func `the next ksso command removes the file of a killed keeper`() async throws {
        try await station.signIn()
        _ = try await Conversation.with(["ksso", "exec", "--file", "--", "sh", "-c", "echo ready; read -r word"], on: station) { command in
            try await command.wait(for: "ready\n")
            let keepers = processes(with: "keep-exec-cache\0--process\0\(command.process)")
            #expect(keepers.count == 1)
            for keeper in keepers { kill(keeper, SIGKILL) }
            // The cache stays while its command runs.
            #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
            #expect(try caches().count == 1)
            try await command.type("end\n")
        }
        #expect(try caches().count == 1)
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
        #expect(try files() == [])
    }

    private func processes(with arguments: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap(Int32.init).filter {
            String.contents(ofKernelFile: "/proc/\($0)/cmdline")?.contains(arguments) == true
        }
    }

    @Test(arguments: [0, 1, 7, 130, 255])
    func `ksso exec --file exits with the status of the command`(status: Int) async throws {
        let result = try await exec("sh", "-c", "echo out; echo err >&2; exit \(status)")
        #expect(result == CommandResult(exitStatus: status, output: "out\n", errors: "err\n"))
    }

    /// The command replaces the process that was started: it has no child, no additional descriptor, and the same terminal.
    @Test func `the command replaces the ksso process and gets no additional descriptor`() async throws {
        let descriptors = ["sh", "-c", "ls /proc/$$/fd; cat /proc/$$/task/$$/children"]
        let direct = try await station.run(descriptors)
        let result = try await station.run(["ksso", "exec", "--file", "--"] + descriptors)
        #expect(result.output.split(separator: "\n").count == direct.output.split(separator: "\n").count, "\(result) \(direct)")
        let terminal = try await Conversation.atTerminal(
            "tty; ps -o tpgid= -p $$; echo $$; exec ksso exec --file -- sh -c 'tty; ps -o tpgid= -p $$; echo $$'",
            on: station
        ) {
            _ in
        }
        let lines = terminal.transcript.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.count == 6 && lines[0].hasPrefix("/dev/pts/"), "\(lines)")
        #expect(lines.prefix(3) == lines.suffix(3), "the terminal, its foreground process group, and the process\n\(lines)")
    }

    @Test func `a command that does not exist fails with status 127 and leaves no file`() async throws {
        #expect(try await exec("no-such-program") == .failure(127, "no-such-program: No such file or directory"))
        #expect(try files() == [])
    }

    /// Java has its own Kerberos implementation, which ignores KRB5_CONFIG and supports only FILE caches.
    @Test(
        .enabled(if: (try? Program.path(of: "java")) != nil, "there is no java: apt-get install openjdk-17-jdk-headless"),
        arguments: Place.allCases
    )
    func `Java signs in with the FILE cache`(place: Place) async throws {
        let source = """
            import java.net.*;
            class Get {
                public static void main(String[] words) throws Exception {
                    var connection = (HttpURLConnection) new URL(words[0]).openConnection();
                    System.out.println(connection.getResponseCode());
                    try (var body = connection.getInputStream()) { body.transferTo(System.out); }
                }
            }
            """
        let program = try station.write(source, to: "Get.java")
        try await at(place) {
            try await station.signIn()
            let settings = "-Djava.security.krb5.conf=\(station.realm.configurationPath)"
            let result = try await exec("java", settings, program, "\(server.url)/hello")
            #expect(result == .done("200\nHello alice@EXAMPLE.TEST\n"))
        }
    }
}
