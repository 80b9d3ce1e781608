import Foundation
import KerberosTesting
import Testing

@testable import Kerberos
@testable import KerberosSSO

/// Programs that do not do what a pinentry does; how a real one asks is tested with an agent.
struct PinentryPrompterTests {
    /// Runs a shell script in the place of a pinentry program. It is not on the threads that tasks share, which this would block.
    private func ask(_ script: String, _ body: @escaping @Sendable (PinentryPrompter, PromptRequest, String) -> Void = { _, _, _ in })
        async throws
        -> Result<[String], any Error>
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = "\(folder)/pinentry"
        try script.write(toFile: "\(folder)/script", atomically: true, encoding: .utf8)
        let fixture = try #require(Bundle.module.path(forResource: "pinentry", ofType: nil, inDirectory: "Fixtures"))
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: fixture)
        let prompter = PinentryPrompter(program: script.isEmpty ? "\(folder)/missing" : program, environment: Self.variables)
        let request = PromptRequest(
            principal: try Principal("alice@EXAMPLE.TEST"),
            banner: "100% of\nthe banner",
            prompts: [PromptRequest.Prompt(kind: .password, text: "Password for alice@EXAMPLE.TEST", isHidden: true)]
        )
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    returning: Result {
                        try prompter.answers(to: request).map { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
                    }
                )
            }
            body(prompter, request, folder)
        }
    }

    private static let variables = ["LANG": "C.UTF-8", "WAYLAND_DISPLAY": "wayland-7"]

    /// Says OK to everything before the question.
    private static let polite =
        "echo OK ready; while read -r line; do echo \"$line\" >>log; case $line in GETPIN*) break;; esac; echo OK; done;"

    @Test(arguments: [
        ("printf 'D 100%%25 zo\\303\\253\\nOK\\n'", "100% zoë"), ("printf 'S x\\n# y\\nD a\\nD b\\nOK\\n'", "ab"), ("echo OK", ""),
        ("echo INQUIRE QUALITY x; read -r end; [ \"$end\" = END ] && printf 'D good\\nOK\\n'", "good"),
    ])
    func whatIsTypedComes(script: String, expected: String) async throws {
        #expect(try await ask("\(Self.polite) \(script)").get() == [expected])
    }

    @Test(arguments: [
        ("", PromptRefusal.notInteractive), ("exit 1", .notInteractive), ("echo ERR 1 no", .notInteractive),
        ("\(polite) echo 'ERR 83886179 Operation cancelled'", .canceled), ("\(polite) echo 'ERR 83886142 Timeout'", .canceled),
        ("\(polite) echo 'ERR 83918929 Inappropriate ioctl for device'", .notInteractive), ("\(polite) exit 0", .canceled),
        ("\(polite) yes 'D xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'", .canceled), ("\(polite) yes | tr -d '\\n'", .canceled),
    ])
    func aProgramThatGivesNoAnswer(script: String, expected: PromptRefusal) async throws {
        let result = try await ask(script)
        #expect(throws: expected) { try result.get() }
    }

    @Test func aQuestionThatIsCanceledEndsItsProgram() async throws {
        let result = try await ask("mkfifo asked; \(Self.polite) echo asked >asked; exec cat >/dev/null") { prompter, request, folder in
            Thread.detachNewThread {
                // The other end is opened when the question is there.
                while !FileManager.default.fileExists(atPath: "\(folder)/asked") { sched_yield() }
                _ = try? FileHandle(forReadingAtPath: "\(folder)/asked")?.readToEnd()
                request.cancel(at: prompter)
            }
        }
        #expect(throws: PromptRefusal.canceled) { try result.get() }
    }

    /// The time in which a dialogue ends does not depend on what the program does about it.
    @Test func aProgramThatHeedsNothingIsEnded() async throws {
        let script = "trap '' TERM; mkfifo asked; \(Self.polite) echo $$ >process; echo asked >asked; while :; do read -r x <hang; done"
        let result = try await ask("mkfifo hang; \(script)") { prompter, request, folder in
            Thread.detachNewThread {
                while !FileManager.default.fileExists(atPath: "\(folder)/asked") { sched_yield() }
                _ = try? FileHandle(forReadingAtPath: "\(folder)/asked")?.readToEnd()
                request.cancel(at: prompter)
            }
        }
        #expect(throws: PromptRefusal.canceled) { try result.get() }
    }

    @Test func aQuestionThatWasCalledOffBeforeItWasAskedStartsNothing() async throws {
        let prompter = PinentryPrompter(program: "/bin/cat", environment: [:])
        let request = PromptRequest(principal: try Principal("alice@EXAMPLE.TEST"), prompts: [.init(kind: .password, text: "Password")])
        request.cancel(at: prompter)
        #expect(throws: PromptRefusal.canceled) { try prompter.answers(to: request) }
    }

    @Test func aCancellationEndsNobodyElsesQuestion() async throws {
        let script = "mkfifo asked answer; \(Self.polite) echo asked >asked; read -r x <answer; printf 'D mine\\nOK\\n'"
        let result = try await ask(script) { prompter, request, folder in
            Thread.detachNewThread {
                while !FileManager.default.fileExists(atPath: "\(folder)/answer") { sched_yield() }
                _ = try? FileHandle(forReadingAtPath: "\(folder)/asked")?.readToEnd()
                PromptRequest(principal: request.principal, prompts: request.prompts).cancel(at: prompter)
                try? FileHandle(forWritingAtPath: "\(folder)/answer")?.write(contentsOf: Data("\n".utf8))
            }
        }
        #expect(try result.get() == ["mine"])
    }

    @Test func theProgramHasTheVariablesThatWereGiven() async throws {
        let result = try await ask("\(Self.polite) printf 'D %s %s %s\\nOK\\n' \"$LANG\" \"$WAYLAND_DISPLAY\" \"${HOME-none}\"")
        #expect(try result.get() == ["C.UTF-8 wayland-7 none"])
    }

    @Test func theProgramIsFoundByThePathThatWasGiven() {
        #expect(PinentryPrompter.path(of: "sh", environment: ["PATH": "/nowhere:/bin"]) == "/bin/sh")
        #expect(PinentryPrompter.path(of: "sh", environment: ["PATH": "/nowhere"]) == nil)
        #expect(PinentryPrompter.path(of: "/bin", environment: [:]) == nil)
    }
}
