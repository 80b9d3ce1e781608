internal import ExtensionProfile
internal import Foundation
public import SignOnPolicy

extension ExtensionConfiguration {
    /// A configuration in which every field differs from its default: that of the profile with every key.
    public static func withEveryField() throws -> ExtensionConfiguration {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let path = tests.appending(path: "ExtensionProfileTests/Fixtures/full.yaml").path
        guard var sample = try Profile(contentsOf: path).configurations.first else { throw NoConfiguration(path: path) }
        // The engine sets it.
        sample.passwords.source = "passwords.yaml"
        // From the file of the user's principals.
        sample.userPrincipal = "alice@EXAMPLE.TEST"
        return sample
    }

    private struct NoConfiguration: Error { let path: String }

    /// The names of the fields that have their default, or of those that do not. A field of a rule is named such as `signIn.helpText`.
    public func fields(withDefault isDefault: Bool) -> [String] {
        Self.comparison(self, ExtensionConfiguration(realm: "")).filter { $0.isEqual == isDefault }.map(\.name)
    }

    private static func comparison(_ value: Any, _ standard: Any, below path: String = "") -> [(name: String, isEqual: Bool)] {
        zip(Mirror(reflecting: value).children, Mirror(reflecting: standard).children).flatMap { own, other in
            let name = path + (own.label ?? "")
            let mirror = Mirror(reflecting: own.value)
            if mirror.displayStyle == .struct, !mirror.children.isEmpty { return comparison(own.value, other.value, below: name + ".") }
            return [(name, String(reflecting: own.value) == String(reflecting: other.value))]
        }
    }
}
