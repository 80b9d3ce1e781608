public import SignOnPolicy

extension ExtensionConfiguration {
    /// A configuration in which every field differs from its default.
    public static func withEveryField() throws -> ExtensionConfiguration {
        var sample = ExtensionConfiguration(realm: "EXAMPLE.TEST")
        sample.hosts = [try HostRule("www.example.test"), try HostRule(".intra.example.test")]
        sample.plainHTTPHosts = [try HostRule("plain.example.test")]
        sample.preemptiveHosts = [try HostRule("preemptive.example.test")]
        sample.delegationHosts = [try HostRule("delegation.example.test")]
        sample.unconditionalDelegationHosts = [try HostRule("unconditional.example.test")]
        sample.optionalMutualAuthenticationHosts = [try HostRule("optional.example.test")]
        sample.noMutualAuthenticationHosts = [try HostRule("none.example.test")]
        sample.noChannelBindingHosts = [try HostRule("unbound.example.test")]
        sample.servicePrincipals = [try Origin(url: "https://www.example.test:8443"): "HTTP/other.example.test"]
        sample.principalName = "alice"
        sample.isDefaultRealm = true
        sample.domainRealmMapping = ["OTHER.TEST": [".other.test"]]
        sample.preferredKDCs = [try PreferredKDC("tcp/kdc.example.test:8088"), try PreferredKDC("kkdcp://proxy.example.test/path")]
        sample.sessionLimits = SessionLimits(
            maximumLifetime: .seconds(28_800),
            signOutAt: .init("18:05"),
            idleSignOutAfter: .milliseconds(90_500),
            signOutOnLock: true,
            signOutOnSessionEnd: true,
            exemptPrincipals: ["bob"]
        )
        sample.renewalFraction = 0.25
        sample.screenLockedBehavior = .doNotHandle
        sample.allowedPeers = [AllowedPeer(.user(33), hosts: sample.hosts), AllowedPeer(.group(50), hosts: [])]
        sample.credentialCallers = [.executable("/usr/bin/curl"), .folder("/opt/app/"), .unit("backup.service")]
        sample.passwords = PasswordRules(
            minimumLength: 12,
            requiresComplexity: true,
            requirementsText: "Twelve characters.",
            minimumAge: 1,
            history: 5,
            changeURL: "https://password.example.test/",
            isChangeAllowed: false,
            notificationDays: 7,
            expireOverride: 90,
            givesNotices: false,
            source: "passwords.yaml"
        )
        sample.deniedCallers = [.executable("/usr/bin/wget")]
        sample.credentialUseMode = .kerberosDefault
        sample.monitorsCredentials = false
        sample.signIn = SignInRules(
            allowsPassword: false,
            allowsCertificate: false,
            prefersCertificate: true,
            certificateIdentity: "FILE:/etc/certificate.pem",
            issuerFilter: "*Example*",
            armorCache: "FILE:/run/machine-ticket",
            userNameLabel: "Staff number",
            helpText: "Call 1234.",
            allowsAutomaticLogin: false
        )
        sample.source = "example.yaml"
        return sample
    }

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
