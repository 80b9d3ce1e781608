extension ExtensionConfiguration {
    /// Sentences about values that can be used and are probably mistakes.
    package var warnings: [String] {
        (realm == realm.uppercased() ? [] : [Self.lowerCaseWarning(realm: realm)])
            + hosts.filter(\.isPublicSuffix).map(\.publicSuffixWarning)
    }

    /// The sentence about a realm that is not in upper case.
    package static func lowerCaseWarning(realm: String) -> String {
        "The realm \(realm.debugDescription) is not in upper case. Most realms are, and case matters: check whether \(realm.uppercased()) is "
            + "meant."
    }
}
