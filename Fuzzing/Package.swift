// swift-tools-version: 6.2
import PackageDescription

// The fuzzers. They are a separate package so that users of the libraries do not build them. The targets of the root package are built here
// as part of it, so that the fuzzers can access their branches and internals. Of those that need SwiftNIO or another large dependency, only
// the files with parsers are built.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let safeSettings = settings + [.strictMemorySafety()]
let testable: [SwiftSetting] = [.unsafeFlags(["-enable-testing"])]

let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        .target(name: "SignOnPolicy", swiftSettings: settings + [.unsafeFlags(["-enable-testing"])]),
        .target(
            name: "HTTPNegotiate",
            dependencies: ["SignOnPolicy", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings + [.unsafeFlags(["-enable-testing"])]
        ),
        // Without the parts that need SwiftNIO: sockets and the server.
        .target(
            name: "KCM",
            dependencies: ["SystemSupport"],
            exclude: ["Server", "Socket"],
            swiftSettings: settings + [.strictMemorySafety(), .unsafeFlags(["-enable-testing"])]
        ),
        .target(name: "SystemSupport", swiftSettings: settings + [.strictMemorySafety()]),
        .target(
            name: "NegotiateProxy",
            dependencies: ["SignOnPolicy", "SystemSupport"],
            sources: [
                "Access/Netlink.swift", "Access/TCPSocketName.swift", "Access/TCPSocketTable.swift",
                "AutoConfiguration/DynamicLibrary.swift",
                "AutoConfiguration/PACAnswer.swift", "AutoConfiguration/PACEngine.swift", "AutoConfiguration/PACLocation.swift",
                "AutoConfiguration/PACMessages.swift", "AutoConfiguration/PACScript.swift", "AutoConfiguration/PACURL.swift", "Messages",
                "Reverse/LocalSite.swift", "Reverse/SiteCookie.swift", "Routing/ProxyRoute.swift", "Routing/ProxyServer+Parsing.swift",
            ],
            swiftSettings: settings + [.strictMemorySafety(), .unsafeFlags(["-enable-testing"])]
        ),
        .systemLibrary(name: "CKerberos"),
        .systemLibrary(name: "COpenLDAP"),
        .target(name: "Kerberos", dependencies: ["CKerberos", "SystemSupport"], swiftSettings: settings + testable),
        .target(name: "ActiveDirectory", dependencies: ["COpenLDAP", "Kerberos", "SystemSupport"], swiftSettings: settings + testable),
        .target(
            name: "ExtensionProfile",
            dependencies: ["SystemSupport", "SignOnPolicy", .product(name: "Yams", package: "Yams")],
            swiftSettings: safeSettings + testable
        ),
        .target(
            name: "KerberosEngine",
            dependencies: ["ActiveDirectory"],
            sources: ["Directory/AccountStatus.swift"],
            swiftSettings: safeSettings + testable
        ),
        .target(name: "KerberosSSO", sources: ["Pinentry/AssuanLine.swift"], swiftSettings: safeSettings + testable),
        .target(
            name: "KerberosTesting",
            dependencies: [.product(name: "SwiftASN1", package: "swift-asn1")],
            sources: ["KDC/KDCProxyEnvelope.swift"],
            swiftSettings: settings + testable
        ),
        .target(
            name: "TLSChannelBinding",
            dependencies: [.product(name: "SwiftASN1", package: "swift-asn1")],
            sources: ["CertificateOutline.swift"],
            swiftSettings: safeSettings + testable
        ),
        .target(
            name: "SSOAgentClient",
            dependencies: ["HTTPNegotiate", "SignOnPolicy", .product(name: "HTTPTypes", package: "swift-http-types")],
            sources: ["Wire"],
            swiftSettings: safeSettings + testable
        ),
        .target(
            name: "SSOAgent",
            dependencies: ["SystemSupport"],
            exclude: ["openapi.yaml"],
            sources: [
                "API/CallerIdentity.swift", "DBus/DBusAddress.swift", "DBus/DBusAuthentication.swift", "DBus/DBusError.swift",
                "DBus/DBusMessage.swift", "DBus/DBusValue.swift", "Sessions/RouteMessages.swift",
            ],
            swiftSettings: safeSettings + testable
        ),
        .target(
            name: "ksso",
            sources: ["Configure/Formats/JSONText.swift", "Configure/Formats/JSONText+Parsing.swift"],
            swiftSettings: settings + testable
        ),
        .target(name: "FuzzerSupport", swiftSettings: settings),
        .executableTarget(
            name: "ChallengeFuzzer",
            dependencies: ["FuzzerSupport", "HTTPNegotiate", "SignOnPolicy"],
            swiftSettings: settings
        ),
        .executableTarget(name: "HostFuzzer", dependencies: ["FuzzerSupport", "HTTPNegotiate", "SignOnPolicy"], swiftSettings: settings),
        .executableTarget(
            name: "ExchangeFuzzer",
            dependencies: ["FuzzerSupport", "HTTPNegotiate", "SignOnPolicy"],
            swiftSettings: settings
        ),
        .executableTarget(name: "KCMFuzzer", dependencies: ["FuzzerSupport", "KCM"], swiftSettings: settings),
        .executableTarget(
            name: "RoutingFuzzer",
            dependencies: ["FuzzerSupport", "NegotiateProxy", "SignOnPolicy"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ProxyFuzzer",
            dependencies: ["FuzzerSupport", "NegotiateProxy", "SignOnPolicy"],
            swiftSettings: settings
        ),
        .executableTarget(name: "DBusFuzzer", dependencies: ["FuzzerSupport", "SSOAgent"], swiftSettings: settings),
        .executableTarget(name: "LocationFuzzer", dependencies: ["CKerberos", "FuzzerSupport", "Kerberos"], swiftSettings: settings),
        .executableTarget(
            name: "TokenFuzzer",
            dependencies: [
                "ActiveDirectory", "FuzzerSupport", "Kerberos", "KerberosTesting", "TLSChannelBinding",
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "MarshalledFuzzer",
            dependencies: ["CKerberos", "FuzzerSupport", "KCM", "Kerberos"],
            swiftSettings: settings
        ),
        .executableTarget(name: "ProfileFuzzer", dependencies: ["ExtensionProfile", "FuzzerSupport", "ksso"], swiftSettings: settings),
        .executableTarget(
            name: "AgentFuzzer",
            dependencies: [
                "FuzzerSupport", "HTTPNegotiate", "KerberosEngine", "KerberosSSO", "SSOAgent", "SSOAgentClient", "SignOnPolicy",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "WebFuzzer",
            dependencies: [
                "FuzzerSupport", "HTTPNegotiate", "NegotiateProxy", "SignOnPolicy",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
    ]
)
