// swift-tools-version: 6.2
import PackageDescription

// The fuzzers. A package of its own, so that nobody who uses the libraries builds it; HTTPNegotiate and KCM are built here as part of it,
// so that the fuzzers see their branches and internals, and nothing else of the root's dependencies is fetched.
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
        .target(
            name: "HTTPNegotiate",
            dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings + [.unsafeFlags(["-enable-testing"])]
        ),
        // Without what needs SwiftNIO: sockets and the server.
        .target(
            name: "KCM",
            exclude: ["Server", "Socket"],
            swiftSettings: settings + [.strictMemorySafety(), .unsafeFlags(["-enable-testing"])]
        ),
        .target(name: "FuzzerSupport", swiftSettings: settings),
        .executableTarget(name: "ChallengeFuzzer", dependencies: ["FuzzerSupport", "HTTPNegotiate"], swiftSettings: settings),
        .executableTarget(name: "HostFuzzer", dependencies: ["FuzzerSupport", "HTTPNegotiate"], swiftSettings: settings),
        .executableTarget(name: "ExchangeFuzzer", dependencies: ["FuzzerSupport", "HTTPNegotiate"], swiftSettings: settings),
        .executableTarget(name: "KCMFuzzer", dependencies: ["FuzzerSupport", "KCM"], swiftSettings: settings),
    ]
)
