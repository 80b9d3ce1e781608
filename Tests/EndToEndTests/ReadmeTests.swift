import Foundation
import Testing

/// The examples of README.md.
@Suite struct ReadmeTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `the examples in the README are those in ReadmeExample.swift`() throws {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let compiled = normalized(
            try String(
                contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "ReadmeExample.swift"),
                encoding: .utf8
            )
        )
        let blocks = readme.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
        let examples = blocks.filter { $0.contains("SingleSignOn(") || $0.contains("withTestRealm(") }
        #expect(examples.count == 3)
        for line in examples.flatMap({ $0.split(separator: "\n") }) where !line.trimmingCharacters(in: .whitespaces).isEmpty {
            #expect(compiled.contains(normalized(String(line))), "\(line) is not in ReadmeExample.swift")
        }
    }

    @Test func `the README example for tests runs`() async throws {
        try await readmeTestExample()
    }

    @Test func `the first example is within the first 20 lines of the README`() throws {
        let lines = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let end = try #require(lines.indices.first { lines[$0] == "```" })
        #expect(end < 20)
    }

    /// The formatter may move comments and spaces.
    private func normalized(_ text: String) -> String { text.filter { !$0.isWhitespace } }
}
