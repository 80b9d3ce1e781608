import Foundation
import SignOnPolicy
import TestSupport
import Testing

@testable import NegotiateProxy

/// The evaluation of PAC files by libpacparser in a process of its own, which is the built `ksso`.
@Suite(.enabled(if: PACWorkerProgram.hasEngine, "libpacparser1 is not installed"))
struct PACRoutesTests {
    private let target = RouteTarget(url: "http://www.corp.example/page?q=1", host: "www.corp.example", port: 80)

    /// The limits of tests that do not reach them. On a busy machine a process may take seconds to start.
    private static var patient: PACEvaluator.Limits {
        var limits = PACEvaluator.Limits()
        limits.time = .seconds(60)
        return limits
    }

    /// Runs the body with the routes of a PAC file with this script.
    private func withRoutes<Value>(
        _ script: String,
        limits: PACEvaluator.Limits = Self.patient,
        _ body: (PACRoutes, PACEvaluator, String) async throws -> Value
    ) async throws -> Value {
        try await withFolder { folder in
            let path = "\(folder)/proxy.pac"
            try Data(script.utf8).write(to: URL(filePath: path))
            let evaluator = PACEvaluator(.built, limits: limits)
            return try await body(PACRoutes(PACSource(try PACLocation(path)), evaluator), evaluator, path)
        }
    }

    /// The routes, or the message of the error.
    private func found(_ source: any RouteSource, _ target: RouteTarget) async -> [String] {
        do throws(RoutingError) {
            return try await source.routes(to: target).map(\.description)
        } catch {
            return [error.message]
        }
    }

    /// The message of the error, or the routes.
    private func message(_ routes: PACRoutes) async -> String { await found(routes, target).joined(separator: "; ") }

    @Test func `the file decides by URL and host`() async throws {
        let script = """
            function FindProxyForURL(url, host) {
                if (url == "https://www.corp.example/" && host == "www.corp.example") return "PROXY tunnel.example:1";
                if (url == "http://www.corp.example/page?q=1") return "PROXY page.example:1; DIRECT";
                return "PROXY " + host + ":3";
            }
            """
        try await withRoutes(script) { routes, _, _ in
            #expect(await found(routes, target) == ["PROXY page.example:1", "DIRECT"])
            let tunnel = RouteTarget(url: "https://www.corp.example:443/", host: "www.corp.example", port: 443)
            #expect(await found(routes, tunnel) == ["PROXY tunnel.example:1"])
            let other = RouteTarget(url: "http://[2001:db8::1]/", host: "2001:db8::1", port: 80)
            #expect(await found(routes, other).first?.hasPrefix("The PAC file") == true)
        }
    }

    static let expressions: [(String, Bool)] = [
        ("isInNet('10.1.2.3', '10.0.0.0', '255.0.0.0')", true), ("isInNet('11.1.2.3', '10.0.0.0', '255.0.0.0')", false),
        ("isInNet('localhost', '127.0.0.0', '255.0.0.0')", true), ("isResolvable('localhost')", true),
        ("isResolvable('no-such-name.invalid')", false), ("dnsResolve('localhost') == '127.0.0.1'", true),
        ("/^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$/.test(myIpAddress())", true), ("myIpAddress() == '127.0.1.1'", false),
        ("dnsDomainIs('www.corp.example', '.corp.example')", true), ("dnsDomainIs('wwwcorp.example', '.corp.example')", false),
        ("localHostOrDomainIs('www', 'www.corp.example')", true), ("isPlainHostName('www')", true),
        ("isPlainHostName('www.example')", false),
        ("dnsDomainLevels('www.corp.example') == 2", true), ("shExpMatch(url, '*.corp.example/*')", true),
        ("shExpMatch('axb', 'a.b')", false),
        ("shExpMatch('ab', 'a?')", true), ("timeRange(0, 23)", true), ("dateRange(1, 31)", true),
        ("(function(n, d) { return weekdayRange(n[d]) })(['SUN','MON','TUE','WED','THU','FRI','SAT'], new Date().getDay())", true),
        ("(function(n, d) { return weekdayRange(n[(d+2)%7]) })(['SUN','MON','TUE','WED','THU','FRI','SAT'], new Date().getDay())", false),
        ("'\u{E4}'.length == 1 && '\u{E4}'.charCodeAt(0) == 228", true),
    ]

    @Test(arguments: expressions)
    func `the functions for PAC files are there`(expression: String, expected: Bool) async throws {
        let script = "function FindProxyForURL(url, host) { return (\(expression)) ? 'PROXY yes.example:1' : 'DIRECT'; }"
        try await withRoutes(script) { routes, _, _ in
            #expect(await found(routes, target) == [expected ? "PROXY yes.example:1" : "DIRECT"])
        }
    }

    @Test(arguments: [
        ("function FindProxyForURL(url, host) {\n  return (;\n}", "is not valid (line 2: SyntaxError"),
        ("<html>Sign in to the network</html>", "failed for www.corp.example (Javascript function FindProxyForURL not defined)"),
        ("var a;", "failed for www.corp.example ("),
        ("function FindProxyForURL(url, host) {\n  return missing.value;\n}", "(line 2: ReferenceError: missing is not defined)"),
        ("function FindProxyForURL(url, host) { throw 'out of order'; }", "(uncaught exception: out of order)"),
        ("function FindProxyForURL(url, host) { throw 'a\\u001b[2J\\nb'; }", "\\u{1b}"),
        ("function FindProxyForURL(url, host) { }", "returned “undefined” for www.corp.example"),
        (
            "function FindProxyForURL(url, host) { return 'SOCKS s.example'; }",
            "routes for www.corp.example that the local proxy cannot use"
        ),
        ("", "is empty"),
    ])
    func `a file that returns no route is an error that names it`(script: String, problem: String) async throws {
        try await withRoutes(script) { routes, _, path in
            for _ in 0..<2 {
                let message = await message(routes)
                #expect(message.hasPrefix("The PAC file \(path)") && message.contains(problem) && message.hasSuffix("."), "\(message)")
                #expect(!message.contains("\u{1B}"))
            }
        }
    }

    @Test func `a script that does not end is stopped and the next question is answered`() async throws {
        var limits = PACEvaluator.Limits()
        limits.time = .seconds(6)
        let script = "function FindProxyForURL(url, host) { while (host == 'www.corp.example') {} return 'DIRECT'; }"
        try await withRoutes(script, limits: limits) { routes, _, path in
            #expect(await message(routes).hasPrefix("The PAC file \(path) returned nothing for www.corp.example within 6 seconds: "))
            let other = RouteTarget(url: "http://other.example/", host: "other.example", port: 80)
            #expect(await found(routes, other) == ["DIRECT"])
        }
    }

    @Test func `a script that does not end while it is loaded is stopped`() async throws {
        var limits = PACEvaluator.Limits()
        limits.time = .seconds(2)
        try await withRoutes("while (true) {}", limits: limits) { routes, _, path in
            #expect(await message(routes).contains("The process that evaluates the PAC file \(path) did not load it within 2 seconds"))
        }
    }

    @Test(arguments: ["var a = []; while (true) a.push('x' + a.length);", "var a = 'aaaaaaaa'; while (true) a += a;"])
    func `a script that takes all memory is an error and the next question is answered`(body: String) async throws {
        let script = "function FindProxyForURL(url, host) { if (host != 'www.corp.example') return 'DIRECT'; \(body) }"
        var limits = PACEvaluator.Limits()
        limits.time = .seconds(30)
        try await withRoutes(script, limits: limits) { routes, _, path in
            let message = await message(routes)
            #expect(message.hasPrefix("The PAC file \(path) ") && !message.contains("within 30 seconds"), "\(message)")
            let other = RouteTarget(url: "http://other.example/", host: "other.example", port: 80)
            #expect(await found(routes, other) == ["DIRECT"])
        }
    }

    @Test func `questions are answered while a slow one runs`() async throws {
        var limits = PACEvaluator.Limits()
        limits.processes = 2
        limits.time = .seconds(8)
        let script = "function FindProxyForURL(url, host) { while (host == 'www.corp.example') {} return 'PROXY ' + host + ':1'; }"
        try await withRoutes(script, limits: limits) { routes, _, _ in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { #expect(await message(routes).contains("within 8 seconds")) }
                for number in 0..<100 {
                    group.addTask {
                        let host = "h\(number).example"
                        let target = RouteTarget(url: "http://\(host)/", host: host, port: 80)
                        #expect(await found(routes, target) == ["PROXY \(host):1"])
                    }
                }
            }
        }
    }

    @Test func `a changed file is read again and a missing one is an error`() async throws {
        try await withRoutes("function FindProxyForURL(url, host) { return 'PROXY a.example:1'; }") { routes, _, path in
            #expect(await found(routes, target) == ["PROXY a.example:1"])
            try Data("function FindProxyForURL(url, host) { return 'PROXY bb.example:1'; }".utf8).write(
                to: URL(filePath: path),
                options: .atomic
            )
            #expect(await found(routes, target) == ["PROXY bb.example:1"])
            try FileManager.default.removeItem(atPath: path)
            #expect(await message(routes).hasPrefix("The PAC file \(path) cannot be read (No such file or directory): "))
            #expect(mkfifo(path, 0o600) == 0)
            #expect(await message(routes).contains("is not a regular file"))
        }
    }

    @Test func `a server that could not be reached is tried last`() async throws {
        try await withRoutes("function FindProxyForURL() { return 'PROXY a.example:1; PROXY b.example:1'; }") { routes, _, _ in
            routes.connectionEnded(to: ProxyServer(host: "a.example", port: 1), isEstablished: false)
            #expect(await found(routes, target) == ["PROXY b.example:1", "PROXY a.example:1"])
        }
    }

    @Test func `a program that is no worker is an error`() async throws {
        for program in ["/bin/true", "/nonexistent/ksso"] {
            let evaluator = PACEvaluator(PACWorkerProgram(path: program))
            try await withFolder { folder in
                try Data("var a;".utf8).write(to: URL(filePath: "\(folder)/a"))
                let message = await message(PACRoutes(PACSource(try PACLocation("\(folder)/a")), evaluator))
                #expect(message.contains("PAC file") && message.hasSuffix("."), "\(message)")
            }
        }
    }

    @Test func `hosts of no_proxy never reach the script`() async throws {
        try await withRoutes("function FindProxyForURL(url, host) { throw 'asked'; }") { routes, _, path in
            let configured = ConfiguredRoutes(noProxy: NoProxy(".corp.example"), otherwise: routes)
            #expect(await found(configured, target) == ["DIRECT"])
            let other = RouteTarget(url: "http://other.example/", host: "other.example", port: 80)
            #expect(await found(configured, other).first?.hasPrefix("The PAC file") == true)
            let profile = try ConfiguredRoutes(noProxy: ["other.example"], servers: [], autoConfiguration: path, worker: .built)
            #expect(await found(profile, other) == ["DIRECT"])
            // Its limits are the default ones, within which a busy machine may not even load the script.
            #expect(await found(profile, target).first?.contains("PAC file \(path)") == true)
        }
    }

    @Test func `the process has given up what it does not need`() async throws {
        try await withRoutes("function FindProxyForURL(url, host) { return 'DIRECT'; }") { routes, evaluator, _ in
            _ = try await routes.routes(to: target)
            let restrictions = await evaluator.restrictions
            #expect(Set(restrictions).isSuperset(of: [.resources, .privileges, .systemCalls]), "\(restrictions)")
        }
    }
}

extension PACWorkerProgram {
    /// The `ksso` next to the test product.
    static var built: PACWorkerProgram {
        let product = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return PACWorkerProgram(path: URL(filePath: product).deletingLastPathComponent().appending(path: "ksso").path)
    }

    /// Whether libpacparser is installed.
    static let hasEngine = DynamicLibrary(PACEngine.library) != nil
}
