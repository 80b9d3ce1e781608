import Foundation
import Testing

@testable import SSOAgentClient

struct RuntimeDirectoryTests {
    @Test(arguments: [
        (["KSSO_RUNTIME_DIR": "/a/b", "XDG_RUNTIME_DIR": "/run/x"], "/a/b"),
        (["XDG_RUNTIME_DIR": "/run/x"], "/run/x/ksso"),
        (["KSSO_RUNTIME_DIR": "relative", "XDG_RUNTIME_DIR": "/run/x"], "/run/x/ksso"),
        (["KSSO_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": "/run/x"], "/run/x/ksso"),
    ])
    func `what the environment says`(environment: [String: String], path: String) {
        #expect(RuntimeDirectory(environment: environment).path == path)
    }

    @Test(arguments: [[:], ["XDG_RUNTIME_DIR": "relative"], ["KSSO_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": ""]])
    func `where the environment says nothing`(environment: [String: String]) {
        let user = geteuid()
        let choices = ["/run/user/\(user)/ksso", "/tmp/ksso-\(user)"]
        let path = RuntimeDirectory(environment: environment).path
        let hasUsersFolder = FileManager.default.isWritableFile(atPath: "/run/user/\(user)")
        #expect(path == choices[hasUsersFolder ? 0 : 1])
    }
}
