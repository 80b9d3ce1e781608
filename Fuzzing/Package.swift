// swift-tools-version: 6.2
import PackageDescription

// The fuzzers. They are a separate package so that users of the libraries do not build them. SignOnPolicy, HTTPNegotiate, KCM,
// SystemSupport and NegotiateProxy are built here as part of it, so that the fuzzers can access their branches and internals, and no other
// dependency of the root package is fetched.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/apple/swift-http-types", from: "1.8.0")],
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
            exclude: ["Server", "Socket"],
            swiftSettings: settings + [.strictMemorySafety(), .unsafeFlags(["-enable-testing"])]
        ),
        // Only the files that need no SwiftNIO.
        .target(name: "SystemSupport", swiftSettings: settings + [.strictMemorySafety()]),
        .target(
            name: "NegotiateProxy",
            dependencies: ["SignOnPolicy", "SystemSupport"],
            sources: [
                "Routing/AddressRange.swift", "Routing/NoProxy.swift", "Routing/NoProxyEntry.swift", "Routing/ProxyRoute.swift",
                "Routing/ProxyServer+Parsing.swift", "AutoConfiguration/DynamicLibrary.swift", "AutoConfiguration/PACAnswer.swift",
                "AutoConfiguration/PACEngine.swift", "AutoConfiguration/PACLocation.swift", "AutoConfiguration/PACScript.swift",
                "AutoConfiguration/PACURL.swift", "Messages",
            ],
            swiftSettings: settings + [.strictMemorySafety(), .unsafeFlags(["-enable-testing"])]
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
    ]
)
