import Foundation
import SystemSupport
import Testing

/// Which files no other user can change or replace.
struct FileTrustTests {
    private static let isRoot = geteuid() == 0

    /// Runs the body with a folder of this user that contains `program`.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let place = try #require(unsafe realpath(NSTemporaryDirectory(), nil))
        defer { unsafe free(place) }
        let folder = unsafe "\(String(cString: place))/trust-\(UUID().uuidString.prefix(8))"
        try makeFolder(folder, mode: 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(FileManager.default.createFile(atPath: "\(folder)/program", contents: Data(), attributes: [.posixPermissions: 0o755]))
        try body(folder)
    }

    private func makeFolder(_ path: String, mode: mode_t) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(chmod(path, mode) == 0)
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    @Test func `the path of a closed file is resolved as the kernel does`() throws {
        try withFolder { folder in
            let program = "\(folder)/program"
            try makeFolder("\(folder)/inner", mode: 0o755)
            try link("\(folder)/relative", to: "inner/../program")
            try link("\(folder)/inner/absolute", to: "\(folder)/relative")
            try link("\(folder)/folder", to: "inner")
            for path in ["program", "./program", "relative", "inner/absolute", "folder/absolute", "folder/../program"] {
                #expect(FileTrust.resolveClosedToOthers("\(folder)/\(path)") == program, "\(path)")
            }
        }
    }

    @Test func `a link in a folder that others can write to is not trusted, unless the folder is sticky`() throws {
        try withFolder { folder in
            for (mode, isTrusted) in [(0o777, false), (0o775, false), (0o1777, true), (0o755, true)] as [(mode_t, Bool)] {
                let place = "\(folder)/\(String(mode, radix: 8))"
                try makeFolder(place, mode: mode)
                try link("\(place)/link", to: "\(folder)/program")
                // The link leads through the writable folder, although its target and its own folder do not.
                try link("\(place)-link", to: "\(place)/link")
                for path in ["\(place)/link", "\(place)-link"] {
                    #expect(FileTrust.resolveClosedToOthers(path) == (isTrusted ? "\(folder)/program" : nil), "\(path)")
                }
            }
        }
    }

    @Test(.enabled(if: isRoot, "only root can create another user's link"))
    func `another user's link, folder or file is not trusted`() throws {
        try withFolder { folder in
            try link("\(folder)/link", to: "program")
            #expect(FileTrust.resolveClosedToOthers("\(folder)/link") != nil)
            #expect(lchown("\(folder)/link", 12345, 12345) == 0)
            #expect(FileTrust.resolveClosedToOthers("\(folder)/link") == nil)
            #expect(FileTrust.resolveClosedToOthers("\(folder)/program") != nil)
            #expect(chown("\(folder)/program", 12345, 12345) == 0)
            #expect(FileTrust.resolveClosedToOthers("\(folder)/program") == nil)
            #expect(chown("\(folder)/program", 0, 0) == 0 && chown(folder, 12345, 12345) == 0)
            #expect(FileTrust.resolveClosedToOthers("\(folder)/program") == nil)
        }
    }

    @Test func `a path that leads to no file is not trusted`() throws {
        try withFolder { folder in
            try link("\(folder)/loop", to: "loop")
            try link("\(folder)/dangling", to: "none")
            for path in ["\(folder)/loop", "\(folder)/dangling", "\(folder)/program/more", folder, "program", "", "/"] {
                #expect(FileTrust.resolveClosedToOthers(path) == nil, "\(path)")
            }
        }
    }
}
