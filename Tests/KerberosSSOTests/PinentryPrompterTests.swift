import Foundation
import KerberosTesting
import TestSupport
import Testing

@testable import Kerberos
@testable import KerberosSSO

/// Prompts through scripts that replace pinentry; the agent tests use the real program.
struct PinentryPrompterTests {
    /// Runs a shell script in place of a pinentry program, on its own thread because the prompt would block a thread of the task pool.
    private func ask(
        _ script: String,
        environment: [String: String] = Self.variables,
        times: Int = 1,
        reports: Recorded<String?> = Recorded(),
        _ body: @escaping @Sendable (PinentryPrompter, PromptRequest, String) -> Void = { _, _, _ in }
    ) async throws -> Result<[String], any Error> {
        try await withScript(script, as: "pinentry") { folder in
            let path = "\(folder)/\(script.isEmpty ? "missing" : "pinentry")"
            let prompter = PinentryPrompter(program: path, environment: environment, report: reports.append)
            let request = PromptRequest(
                principal: try Principal("alice@EXAMPLE.TEST"),
                banner: "100% of\nthe banner",
                prompts: [PromptRequest.Prompt(kind: .password, text: "Password for alice@EXAMPLE.TEST", isHidden: true)]
            )
            return await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    for _ in 1..<times { _ = try? prompter.answers(to: request) }
                    continuation.resume(
                        returning: Result {
                            try prompter.answers(to: request).map { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
                        }
                    )
                }
                body(prompter, request, folder)
            }
        }
    }

    private static let variables = ["LANG": "C.UTF-8", "WAYLAND_DISPLAY": "wayland-7"]

    /// Answers OK to every line before the request for the PIN.
    private static let polite =
        "echo OK ready; while read -r line; do echo \"$line\" >>log; case $line in GETPIN*) break;; esac; echo OK; done;"

    @Test(arguments: [
        ("printf 'D 100%%25 zo\\303\\253\\nOK\\n'", "100% zoë"), ("printf 'S x\\n# y\\nD a\\nD b\\nOK\\n'", "ab"), ("echo OK", ""),
        ("echo INQUIRE QUALITY x; read -r end; [ \"$end\" = END ] && printf 'D good\\nOK\\n'", "good"),
    ])
    func `pinentry's data lines are returned as the answer`(script: String, expected: String) async throws {
        #expect(try await ask("\(Self.polite) \(script)").get() == [expected])
    }

    @Test(arguments: [
        ("", PromptRefusal.notInteractive), ("exit 1", .notInteractive), ("echo ERR 1 no", .notInteractive),
        ("\(polite) echo 'ERR 83886179 Operation cancelled'", .canceled), ("\(polite) echo 'ERR 83886142 Timeout'", .canceled),
        ("\(polite) echo 'ERR 83918929 Inappropriate ioctl for device'", .notInteractive), ("\(polite) exit 0", .canceled),
        ("\(polite) yes 'D xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'", .canceled), ("\(polite) yes | tr -d '\\n'", .canceled),
    ])
    func `a pinentry that gives no answer is a refusal`(script: String, expected: PromptRefusal) async throws {
        let result = try await ask(script)
        #expect(throws: expected) { try result.get() }
    }

    @Test(arguments: [
        ("", variables, "there is no such program"), ("exit 1", variables, "exited before it prompted"),
        ("\(polite) exit 0", variables, "exited during the prompt"),
        ("\(polite) echo 'ERR 83918929 Inappropriate ioctl for device'", variables, "cannot prompt in a window (libgpg-error 32849)"),
        ("\(polite) echo 'ERR 83918929 Inappropriate ioctl for device'", ["DISPLAY": ""], "Set GPG_TTY or DISPLAY"),
        ("exit 1", [:], "Set GPG_TTY or DISPLAY"),
    ])
    func `the reason why pinentry cannot prompt is reported once`(script: String, environment: [String: String], expected: String)
        async throws
    {
        let reports = Recorded<String?>()
        _ = try await ask(script, environment: environment, times: 3, reports: reports)
        let lines = reports.all
        #expect(lines.count == 1 && lines.first??.contains(expected) == true, "\(lines)")
        #expect(lines.first??.contains("\n") == false)
    }

    @Test func `a prompt that works again ends the reported fault`() async throws {
        let reports = Recorded<String?>()
        let script = "[ -e broken ] || { echo >broken; exit 1; }; \(Self.polite) printf 'D x\\nOK\\n'"
        let result = try await ask(script, times: 3, reports: reports)
        #expect(try result.get() == ["x"])
        let lines = reports.all
        #expect(lines.map { $0 == nil } == [false, true], "\(lines)")
    }

    /// A user's refusal and a cancelled request are not faults of the program.
    @Test func `a canceled prompt is not reported as a fault`() async throws {
        let reports = Recorded<String?>()
        _ = try await ask("\(Self.polite) echo 'ERR 83886179 Operation cancelled'", reports: reports)
        let hanging = "mkfifo asked; \(Self.polite) echo asked >asked; exec cat >/dev/null"
        _ = try await ask(hanging, reports: reports) { prompter, request, folder in
            Thread.detachNewThread {
                while !FileManager.default.fileExists(atPath: "\(folder)/asked") { sched_yield() }
                _ = try? FileHandle(forReadingAtPath: "\(folder)/asked")?.readToEnd()
                request.cancel(at: prompter)
            }
        }
        #expect(reports.all.isEmpty)
    }

    @Test func `canceling a prompt terminates its pinentry`() async throws {
        let result = try await ask("mkfifo asked; \(Self.polite) echo asked >asked; exec cat >/dev/null") { prompter, request, folder in
            Thread.detachNewThread {
                // Reading the FIFO waits until the script has received the request.
                while !FileManager.default.fileExists(atPath: "\(folder)/asked") { sched_yield() }
                _ = try? FileHandle(forReadingAtPath: "\(folder)/asked")?.readToEnd()
                request.cancel(at: prompter)
            }
        }
        #expect(throws: PromptRefusal.canceled) { try result.get() }
    }

    /// How long ending a dialogue takes must not depend on the program.
    @Test func `a pinentry that ignores SIGTERM is terminated`() async throws {
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

    @Test func `a prompt canceled before it opens starts no program`() async throws {
        let prompter = PinentryPrompter(program: "/bin/cat", environment: [:])
        let request = PromptRequest(principal: try Principal("alice@EXAMPLE.TEST"), prompts: [.init(kind: .password, text: "Password")])
        request.cancel(at: prompter)
        #expect(throws: PromptRefusal.canceled) { try prompter.answers(to: request) }
    }

    @Test func `canceling one prompt does not affect another`() async throws {
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

    @Test func `pinentry gets only the given environment variables`() async throws {
        let result = try await ask("\(Self.polite) printf 'D %s %s %s\\nOK\\n' \"$LANG\" \"$WAYLAND_DISPLAY\" \"${HOME-none}\"")
        #expect(try result.get() == ["C.UTF-8 wayland-7 none"])
    }

    @Test func `pinentry is found through the given PATH`() {
        #expect(PinentryPrompter.path(of: "sh", environment: ["PATH": "/nowhere:/bin"]) == "/bin/sh")
        #expect(PinentryPrompter.path(of: "sh", environment: ["PATH": "/nowhere"]) == nil)
        #expect(PinentryPrompter.path(of: "/bin", environment: [:]) == nil)
    }
}
