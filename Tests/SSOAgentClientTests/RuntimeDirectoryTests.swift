import Foundation
import Testing

@testable import SSOAgentClient

/// Where the agent's runtime directory is, depending on the environment.
struct RuntimeDirectoryTests {
    @Test(arguments: [
        (["KSSO_RUNTIME_DIR": "/a/b", "XDG_RUNTIME_DIR": "/run/x"], "/a/b"),
        (["XDG_RUNTIME_DIR": "/run/x"], "/run/x/ksso"),
        (["KSSO_RUNTIME_DIR": "relative", "XDG_RUNTIME_DIR": "/run/x"], "/run/x/ksso"),
        (["KSSO_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": "/run/x"], "/run/x/ksso"),
    ])
    func `KSSO_RUNTIME_DIR precedes XDG_RUNTIME_DIR, and relative or empty paths are ignored`(environment: [String: String], path: String) {
        #expect(RuntimeDirectory(environment: environment).path == path)
    }

    @Test(arguments: [[:], ["XDG_RUNTIME_DIR": "relative"], ["KSSO_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": ""]])
    func `without usable variables, the runtime directory is in /run/user or /tmp`(environment: [String: String]) {
        let user = geteuid()
        let choices = ["/run/user/\(user)/ksso", "/tmp/ksso-\(user)"]
        let path = RuntimeDirectory(environment: environment).path
        let hasUsersFolder = FileManager.default.isWritableFile(atPath: "/run/user/\(user)")
        #expect(path == choices[hasUsersFolder ? 0 : 1])
    }
}
