// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target: language mode 6, warnings are errors, imports are internal unless a public signature needs them.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For targets above `Kerberos`: with warnings as errors every use of a pointer is marked `unsafe`, so that none leaks upward unseen.
let safeSettings: [SwiftSetting] = settings + [.strictMemorySafety()]

/// For `make release`: an object file (Scripts/icu-data says why), and packed relocations, 4 MB less, which require lld and glibc 2.36.
let packed = ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"]
let programLinkerSettings: [LinkerSetting] = Context.environment["KSSO_ICU_DATA"].map { [.unsafeFlags([$0] + packed)] } ?? []

/// The version with the commit, which a release build defines in one C file. Without it, the programs print the latest release's version.
let versionSettings: [CSetting] = Context.environment["KSSO_VERSION"].map { [.define("PROGRAM_VERSION", to: "\"\($0)\"")] } ?? []

/// Traits with the names of the products, so that a user of some products downloads only the packages that these need. The dependencies of
/// a target that several products contain name all their traits, or one trait enables the other.
let http = TargetDependencyCondition.when(traits: ["HTTPNegotiate"])
let agentClient = TargetDependencyCondition.when(traits: ["SSOAgentClient"])
let kerberosSSO = TargetDependencyCondition.when(traits: ["KerberosSSO"])
let asyncHTTPClient = TargetDependencyCondition.when(traits: ["NegotiateAsyncHTTPClient"])
let kerberosTesting = TargetDependencyCondition.when(traits: ["KerberosTesting"])
let channelBinding = TargetDependencyCondition.when(traits: ["NegotiateAsyncHTTPClient", "KerberosTesting"])

/// The products of SwiftNIO with these names.
func nio(_ names: String..., condition: TargetDependencyCondition? = nil) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "swift-nio", condition: condition) }
}

let package = Package(
    name: "swift-kerberos-sso",
    platforms: [.macOS(.v15)],
    // What a user imports by name. KerberosSSO re-exports the engine, the profiles and the directory of a domain, HTTPNegotiate the policy.
    // The programs ksso and ksso-realm need no product to be built and installed from this package.
    products: [
        .library(name: "KerberosSSO", targets: ["KerberosSSO"]),
        .library(name: "NegotiateAsyncHTTPClient", targets: ["NegotiateAsyncHTTPClient"]),
        .library(name: "NegotiateURLSession", targets: ["NegotiateURLSession"]),
        .library(name: "SSOAgentClient", targets: ["SSOAgentClient"]),
        .library(name: "Kerberos", targets: ["Kerberos"]),
        .library(name: "HTTPNegotiate", targets: ["HTTPNegotiate"]),
        .library(name: "KerberosTesting", targets: ["KerberosTesting"]),
        .library(name: "KerberosTestingTraits", targets: ["KerberosTestingTraits"]),
    ],
    traits: [
        "Kerberos", "HTTPNegotiate", "KerberosTesting",
        .trait(name: "KerberosTestingTraits", enabledTraits: ["KerberosTesting"]),
        .trait(name: "SSOAgentClient", enabledTraits: ["HTTPNegotiate"]), .trait(name: "KerberosSSO", enabledTraits: ["SSOAgentClient"]),
        .trait(name: "NegotiateAsyncHTTPClient", enabledTraits: ["HTTPNegotiate"]),
        .trait(name: "NegotiateURLSession", enabledTraits: ["HTTPNegotiate"]),
        .default(enabledTraits: ["KerberosSSO", "NegotiateAsyncHTTPClient", "NegotiateURLSession", "KerberosTestingTraits"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // These declare what is loaded from libldap and libpcsclite at run time, so that no package is needed to build.
        .systemLibrary(name: "COpenLDAP"),
        .systemLibrary(name: "CSmartCard"),
        .systemLibrary(name: "CKerberos", providers: [.apt(["libkrb5-dev"]), .yum(["krb5-devel"])]),
        .target(name: "SystemSupport", swiftSettings: safeSettings),
        .target(name: "SmartCardReaders", dependencies: ["CSmartCard", "SystemSupport"], swiftSettings: settings),
        .target(name: "Kerberos", dependencies: ["CKerberos", "SystemSupport"], swiftSettings: settings),
        .target(name: "ActiveDirectory", dependencies: ["COpenLDAP", "Kerberos", "SystemSupport"], swiftSettings: settings),
        .target(name: "SignOnPolicy", swiftSettings: safeSettings),
        .target(name: "EventLoopTasks", dependencies: nio("NIOCore", condition: asyncHTTPClient), swiftSettings: safeSettings),
        .target(
            name: "HTTPNegotiate",
            dependencies: ["SignOnPolicy", .product(name: "HTTPTypes", package: "swift-http-types", condition: http)],
            swiftSettings: safeSettings
        ),
        .target(
            name: "TLSChannelBinding",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto", condition: channelBinding),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: channelBinding),
            ],
            swiftSettings: safeSettings
        ),
        .target(
            name: "KCM",
            dependencies: [
                "SystemSupport", .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: safeSettings
        ),
        .target(
            name: "ExtensionProfile",
            dependencies: ["SystemSupport", "SignOnPolicy", .product(name: "Yams", package: "Yams", condition: kerberosSSO)],
            swiftSettings: safeSettings
        ),
        .target(
            name: "KerberosEngine",
            dependencies: ["ActiveDirectory", "SignOnPolicy", "SystemSupport", "Kerberos", "HTTPNegotiate"],
            swiftSettings: safeSettings
        ),
        .target(
            name: "NegotiateAsyncHTTPClient",
            dependencies: [
                "EventLoopTasks", "HTTPNegotiate", "TLSChannelBinding",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: asyncHTTPClient),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: asyncHTTPClient),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: asyncHTTPClient),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: asyncHTTPClient),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: asyncHTTPClient),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix", condition: asyncHTTPClient),
            swiftSettings: safeSettings
        ),
        .target(
            name: "NegotiateURLSession",
            dependencies: ["SystemSupport", "HTTPNegotiate", .product(name: "HTTPTypes", package: "swift-http-types", condition: http)],
            swiftSettings: safeSettings
        ),
        .target(
            name: "SSOAgentClient",
            dependencies: [
                "SignOnPolicy", "SystemSupport", "HTTPNegotiate",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: agentClient),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix", condition: agentClient),
            swiftSettings: safeSettings
        ),
        .target(
            name: "KerberosTesting",
            dependencies: [
                "Kerberos", "TLSChannelBinding",
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: kerberosTesting),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: kerberosTesting),
                .product(name: "Subprocess", package: "swift-subprocess", condition: kerberosTesting),
                .product(name: "SystemPackage", package: "swift-system", condition: kerberosTesting),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix", condition: kerberosTesting),
            swiftSettings: settings
        ),
        .target(name: "KerberosTestingTraits", dependencies: ["KerberosTesting"], swiftSettings: settings),
        .target(
            name: "KerberosSSO",
            dependencies: [
                "ActiveDirectory", "SignOnPolicy", "SystemSupport", "ExtensionProfile", "HTTPNegotiate", "Kerberos", "KerberosEngine",
                "SSOAgentClient", .product(name: "HTTPTypes", package: "swift-http-types", condition: kerberosSSO),
            ],
            swiftSettings: safeSettings
        ),
        .target(
            name: "NegotiateProxy",
            dependencies: [
                "EventLoopTasks", "HTTPNegotiate", "SignOnPolicy", "SystemSupport", "TLSChannelBinding",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix", "NIOTLS"),
            swiftSettings: safeSettings
        ),
        .target(
            name: "SSOAgent",
            dependencies: [
                "ActiveDirectory", "EventLoopTasks", "SignOnPolicy", "SystemSupport", "ExtensionProfile", "HTTPNegotiate", "KCM",
                "Kerberos", "KerberosEngine", "SmartCardReaders", "SSOAgentClient",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix"),
            exclude: ["openapi.yaml"],
            swiftSettings: safeSettings
        ),
        .target(
            name: "SignOnDiagnosis",
            dependencies: [
                "ActiveDirectory", "SystemSupport", "ExtensionProfile", "HTTPNegotiate", "Kerberos", "KerberosEngine", "KerberosSSO",
                "NegotiateAsyncHTTPClient", "SignOnPolicy", "SmartCardReaders", "SSOAgentClient",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ] + nio("NIOCore", "NIOHTTP1"),
            swiftSettings: settings
        ),
        .target(name: "CProgramVersion", cSettings: versionSettings),
        .target(
            name: "CommandSupport",
            dependencies: [
                "CProgramVersion", "Kerberos", "SystemSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ksso",
            dependencies: [
                "ActiveDirectory", "SignOnDiagnosis", "SignOnPolicy", "SystemSupport", "CommandSupport", "ExtensionProfile",
                "HTTPNegotiate", "Kerberos", "KerberosEngine", "KerberosSSO", "NegotiateAsyncHTTPClient", "NegotiateProxy", "SSOAgent",
                "SSOAgentClient", "TLSChannelBinding",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ] + nio("NIOCore", "NIOFoundationCompat", "NIOHTTP1"),
            swiftSettings: settings,
            linkerSettings: programLinkerSettings
        ),
        // A program of its own, so that the one that users install contains no test kit.
        .executableTarget(
            name: "ksso-realm",
            dependencies: [
                "CommandSupport", "Kerberos", "KerberosTesting", "SystemSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "Yams", package: "Yams"),
            ] + nio("NIOCore", "NIOPosix"),
            swiftSettings: settings,
            linkerSettings: programLinkerSettings
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "SystemSupport", "SignOnPolicy", "ExtensionProfile", "HTTPNegotiate", "KCM", "Kerberos", "KerberosEngine",
                "KerberosTesting", .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix", "NIOWebSocket"),
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .testTarget(name: "ActiveDirectoryTests", dependencies: ["ActiveDirectory", "KerberosTestingTraits"], swiftSettings: settings),
        .testTarget(name: "SystemSupportTests", dependencies: ["SystemSupport"], swiftSettings: settings),
        .testTarget(
            name: "SignOnPolicyTests",
            dependencies: ["SignOnPolicy", "TestSupport"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(name: "SignOnDiagnosisTests", dependencies: ["SignOnDiagnosis", "SmartCardReaders"], swiftSettings: settings),
        .testTarget(
            name: "HTTPNegotiateTests",
            dependencies: ["HTTPNegotiate", "TestSupport", .product(name: "HTTPTypes", package: "swift-http-types")],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "KCMTests",
            dependencies: [
                "CKerberos", "KCM", "Kerberos", "KerberosTesting", "KerberosTestingTraits", "TestSupport", "SystemSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
            ] + nio("NIOCore", "NIOPosix"),
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SSOAgentClientTests",
            dependencies: [
                "SignOnPolicy", "SSOAgentClient", "HTTPNegotiate", "TestSupport", "SystemSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix"),
            swiftSettings: settings
        ),
        .testTarget(
            name: "SSOAgentTests",
            dependencies: [
                "SignOnPolicy", "SSOAgent", "SSOAgentClient", "ExtensionProfile", "HTTPNegotiate", "KCM", "Kerberos", "KerberosEngine",
                "KerberosTesting", "KerberosTestingTraits", "TestSupport", "SmartCardReaders", "SystemSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ] + nio("NIOCore", "NIOPosix"),
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TLSChannelBindingTests",
            dependencies: [
                "TLSChannelBinding", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ExtensionProfileTests",
            dependencies: ["SignOnPolicy", "ExtensionProfile", "HTTPNegotiate", "TestSupport"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "KerberosTestingTests",
            dependencies: ["Kerberos", "KerberosTesting", "KerberosTestingTraits", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NegotiateClientTests",
            dependencies: [
                "SignOnPolicy", "NegotiateAsyncHTTPClient", "NegotiateURLSession", "HTTPNegotiate", "Kerberos", "KerberosEngine",
                "KerberosTesting", "KerberosTestingTraits", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + nio("NIOCore", "NIOHTTP1"),
            swiftSettings: settings
        ),
        .testTarget(
            name: "NegotiateAsyncHTTPClientTests",
            dependencies: [
                "SignOnPolicy", "NegotiateAsyncHTTPClient", "HTTPNegotiate", "KerberosTesting", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix"),
            swiftSettings: settings
        ),
        .testTarget(
            name: "NegotiateURLSessionTests",
            dependencies: [
                "SignOnPolicy", "NegotiateURLSession", "HTTPNegotiate", "Kerberos", "KerberosEngine", "KerberosTesting",
                "KerberosTestingTraits", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "KerberosTests",
            dependencies: ["SystemSupport", "Kerberos", "KCM", "KerberosTesting", "KerberosTestingTraits", "TestSupport"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "KerberosEngineTests",
            dependencies: [
                "SignOnPolicy", "SystemSupport", "KerberosEngine", "Kerberos", "HTTPNegotiate", "KerberosTesting", "KerberosTestingTraits",
                "TestSupport", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "KerberosSSOTests",
            dependencies: [
                "KerberosSSO", "KerberosEngine", "ExtensionProfile", "Kerberos", "HTTPNegotiate", "KerberosTesting",
                "KerberosTestingTraits", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NegotiateProxyTests",
            dependencies: [
                "HTTPNegotiate", "Kerberos", "KerberosEngine", "KerberosSSO", "KerberosTesting", "KerberosTestingTraits", "NegotiateProxy",
                // The built command evaluates PAC files.
                "SignOnPolicy", "TestSupport", "ksso",
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ] + nio("NIOCore", "NIOHTTP1", "NIOPosix"),
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "kssoTests",
            // The tests run the built commands as a user does.
            dependencies: [
                "SignOnDiagnosis", "SignOnPolicy", "ksso", "ksso-realm", "ExtensionProfile", "HTTPNegotiate", "Kerberos", "KerberosSSO",
                "KerberosTesting", "NegotiateAsyncHTTPClient", "NegotiateURLSession", "SSOAgentClient", "TLSChannelBinding",
                "KerberosTestingTraits", "TestSupport", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "Subprocess", package: "swift-subprocess"),
            ] + nio("NIOCore", "NIOPosix"),
            swiftSettings: settings
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "SignOnPolicy", "HTTPNegotiate", "Kerberos", "KerberosEngine", "KerberosSSO", "KerberosTesting", "NegotiateAsyncHTTPClient",
                "TLSChannelBinding", "KerberosTestingTraits", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ] + nio("NIOCore", "NIOHTTP1"),
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
    ]
)
