import Foundation
import TestSupport
import Testing

@testable import Kerberos

@Suite(.timeLimit(.minutes(15))) struct ProcessMemoryTests {
    @Test(.exitTest, .skipped(under: .thread, because: "code of the thread sanitizer stays resident"))
    func `an idle process releases most of its resident code and continues to work`() async {
        await #expect(processExitsWith: .success) {
            let before = try residentCode()
            ProcessMemory.giveBackAtRest()
            let after = try residentCode()
            try #require(after < before / 2, "\(before) kB of code were resident, and \(after) kB are")
            try #require(Principal("alice@EXAMPLE.TEST").realm == "EXAMPLE.TEST")
            endChildProcess()
        }
    }
}

/// The resident size of the program's own code, in kB.
private func residentCode() throws -> Int {
    let program = try URL(filePath: FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).lastPathComponent
    var (isCode, sum) = (false, 0)
    for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n") {
        if line.contains("-"), line.contains(" r") || line.contains(" -") { isCode = line.contains(" r-xp ") && line.hasSuffix(program) }
        if isCode, line.hasPrefix("Rss:") { sum += Int(line.filter(\.isNumber)) ?? 0 }
    }
    return sum
}
