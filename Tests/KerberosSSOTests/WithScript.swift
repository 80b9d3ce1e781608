import Foundation
import TestSupport
import Testing

/// Runs the body with a folder that contains a program with a name, which runs a shell script in this folder.
@discardableResult func withScript<R>(_ script: String, as name: String, _ body: (String) async throws -> R) async throws -> R {
    try await withFolder { folder in
        try script.write(toFile: "\(folder)/script", atomically: true, encoding: .utf8)
        let fixture = try #require(Bundle.module.path(forResource: "pinentry", ofType: nil, inDirectory: "Fixtures"))
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: fixture)
        return try await body(folder)
    }
}
