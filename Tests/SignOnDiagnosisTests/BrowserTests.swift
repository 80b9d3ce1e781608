import Foundation
import Testing

@testable import SignOnDiagnosis

/// The policy file that the doctor names for a browser that sends no ticket.
struct BrowserTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func browser(_ name: String, policies: [String]) throws -> Browser {
        let known = try #require(Browser.all.first { $0.name == name })
        return Browser(
            name: name,
            programs: [],
            policies: policies,
            key: known.key,
            file: known.file,
            document: known.document,
            allowed: known.allowed
        )
    }

    @Test(arguments: ["Chromium", "Chrome", "Edge", "Firefox"])
    func `the advice for a browser without a policy is a file that allows the host`(name: String) throws {
        try withFolder { folder in
            let browser = try browser(name, policies: ["\(folder)/missing", folder])
            #expect(!browser.allows("www.example.test"))
            let remedy = browser.remedy(for: "www.example.test")
            let start = "\(name): write \(folder)/\(browser.file): "
            try #require(remedy.hasPrefix(start), "\(remedy)")
            try String(remedy.dropFirst(start.count)).write(toFile: "\(folder)/\(browser.file)", atomically: true, encoding: .utf8)
            #expect(browser.allows("www.example.test") && !browser.allows("other.example.test"))
            // The file for another host is extended.
            #expect(browser.remedy(for: "a.test") == "\(name): add a.test to \(browser.key) in \(folder)/\(browser.file)")
        }
    }

    @Test func `the advice for Firefox extends a policy file with other policies`() throws {
        try withFolder { folder in
            let browser = try browser("Firefox", policies: [folder])
            try #"{"policies": {"DisableTelemetry": true}}"#.write(
                toFile: "\(folder)/policies.json",
                atomically: true,
                encoding: .utf8
            )
            let remedy = browser.remedy(for: "www.example.test")
            #expect(remedy.hasPrefix("Firefox: add Authentication.SPNEGO to \(folder)/policies.json, as in {"), "\(remedy)")
        }
    }

    @Test func `the advice names the browser's own folder if there is none yet`() throws {
        try withFolder { folder in
            let remedy = try browser("Chrome", policies: ["\(folder)/first", "\(folder)/second"]).remedy(for: "www.example.test")
            #expect(remedy == #"Chrome: write \#(folder)/first/kerberos.json: {"AuthServerAllowlist": "www.example.test"}"#)
        }
    }
}
