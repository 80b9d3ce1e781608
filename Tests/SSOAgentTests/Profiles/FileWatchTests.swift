import Foundation
import TestSupport
import Testing

@testable import SSOAgent

/// Which changes of files and folders are reported, with real folders.
@Suite(.timeLimit(.minutes(2))) struct FileWatchTests {
    /// A temporary folder and the ways to change its files.
    fileprivate struct Place {
        let root: String
        let files = FileManager.default

        init() throws {
            root = "\(NSTemporaryDirectory())/FileWatchTests-\(UUID().uuidString)"
            try files.createDirectory(atPath: root, withIntermediateDirectories: true)
        }

        func remove() { try? files.removeItem(atPath: root) }
        func path(_ name: String) -> String { "\(root)/\(name)" }
        func write(_ text: String, to name: String) throws { try text.write(toFile: path(name), atomically: false, encoding: .utf8) }
        func replace(_ name: String) throws { try "new".write(toFile: path(name), atomically: true, encoding: .utf8) }
        func make(_ name: String) throws { try files.createDirectory(atPath: path(name), withIntermediateDirectories: true) }
        func delete(_ name: String) throws { try files.removeItem(atPath: path(name)) }
        func move(_ name: String, to other: String) throws { try files.moveItem(atPath: path(name), toPath: path(other)) }

        func chmod(_ name: String, _ mode: Int) throws {
            try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
        }

        /// Waits until no process has a file open for writing, which is when the kernel grants a lease for reading (fcntl(2)).
        ///
        /// A child process that another test is starting has a copy of each descriptor until it executes its program, and the event of
        /// closing the file comes only then.
        func settle(_ name: String) async throws {
            let setLease: Int32 = 1024  // F_SETLEASE, which Glibc declares only with _GNU_SOURCE
            let file = open(path(name), O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            #expect(try await comesTrue { fcntl(file, setLease, Int32(F_RDLCK)) == 0 })
        }
    }

    /// A change of what is watched: a folder `a/b` with the file `c`, or a link `l` to the file `t`, both next to `a`.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        fileprivate let run: @Sendable (Place) throws -> Void

        fileprivate init(_ text: String, _ run: @escaping @Sendable (Place) throws -> Void) {
            testDescription = text
            self.run = run
        }
    }

    private static let fileChanges = [
        Change("written in place") { try $0.write("more", to: "a/b/c") },
        Change("replaced") { try $0.replace("a/b/c") },
        Change("removed") { try $0.delete("a/b/c") },
        Change("moved away") { try $0.move("a/b/c", to: "elsewhere") },
        Change("made writable for others") { try $0.chmod("a/b/c", 0o666) },
        Change("the folder removed") { try $0.delete("a/b") },
        Change("the folder moved away") { try $0.move("a/b", to: "a/other") },
        Change("the folder's folder moved away") { try $0.move("a", to: "other") },
        Change("the folder's folder removed") { try $0.delete("a") },
    ]

    @Test(arguments: fileChanges, ["a/b", "a/b/c"])
    func `a change of a watched file or folder is reported`(_ change: Change, of watched: String) async throws {
        try await expect(change, isSeenOf: watched) { place in
            try place.make("a/b")
            try place.write("old", to: "a/b/c")
        }
    }

    @Test(arguments: [
        Change("a file made") { try $0.write("new", to: "a/b/d") },
        Change("a link made") { try $0.files.createSymbolicLink(atPath: $0.path("a/b/d"), withDestinationPath: "../c") },
        Change("a hard link made") { try $0.files.linkItem(atPath: $0.path("t"), toPath: $0.path("a/b/d")) },
        Change("a file moved there") { try $0.move("t", to: "a/b/d") },
        Change("made writable for others") { try $0.chmod("a/b", 0o777) },
        Change("its folder made writable for others") { try $0.chmod("a", 0o777) },
    ])
    func `a change of a watched folder's content or permissions is reported`(_ change: Change) async throws {
        try await expect(change, isSeenOf: "a/b") { place in
            try place.make("a/b")
            try place.write("text", to: "t")
        }
    }

    @Test(arguments: ["t", "t2"]) func `a change of a watched link's target is reported`(_ name: String) async throws {
        let change =
            name == "t"
            ? Change("written") { try $0.write("more", to: "t") }
            : Change("replaced") { try $0.replace("t") }
        try await expect(change, isSeenOf: "l") { place in
            for name in ["t", "t2"] { try place.write("old", to: name) }
            try place.files.createSymbolicLink(atPath: place.path("l"), withDestinationPath: "t")
        }
    }

    @Test func `a missing folder is watched as soon as it is created`() async throws {
        let place = try Place()
        defer { place.remove() }
        let folder = place.path("x/y/z")
        var changes = try #require(FileWatch { [folder] }).changes.makeAsyncIterator()
        for _ in 0..<2 {
            try place.make("x/y/z")
            try #require(await changes.next() != nil)
            // The folder was watched before its creation was reported, so a change from here on is reported too.
            try place.write("new", to: "x/y/z/file")
            try #require(await changes.next() != nil)
            try place.delete("x")
            while place.files.fileExists(atPath: folder) { try #require(await changes.next() != nil) }
            try #require(await changes.next() != nil)
        }
    }

    @Test func `changes of files that are not watched are not reported`() async throws {
        let place = try Place()
        defer { place.remove() }
        try place.make("a/b")
        try place.write("old", to: "a/b/c")
        try await place.settle("a/b/c")
        let table = try #require(FileWatchTable())
        defer { table.end() }
        #expect(table.update([place.path("a/b/c")]))
        for name in ["a/b/d", "a/d", "d"] { try place.replace(name) }
        #expect(try String(contentsOfFile: place.path("a/b/c"), encoding: .utf8) == "old")
        #expect(!table.takeChanges())
        try place.replace("a/b/c")
        try await place.settle("a/b/c")
        #expect(table.takeChanges() && !table.takeChanges())
        // Neither a file that is no longer watched nor a file that is open for writing, until it is closed, is reported.
        #expect(table.update([place.path("a/b")]))
        try place.replace("a/c")
        let file = open(place.path("a/b/e"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        #expect(!table.takeChanges())
        close(file)
        // A child process that another test is starting may briefly have the file open.
        #expect(try await comesTrue { table.takeChanges() })
    }

    private func expect(
        _ change: Change,
        isSeenOf name: String,
        after prepare: (Place) throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let place = try Place()
        defer { place.remove() }
        try prepare(place)
        let path = place.path(name)
        var changes = try #require(FileWatch { [path] }, sourceLocation: sourceLocation).changes.makeAsyncIterator()
        try change.run(place)
        #expect(await changes.next() != nil, sourceLocation: sourceLocation)
    }
}
