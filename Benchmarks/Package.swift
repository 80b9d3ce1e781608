// swift-tools-version: 6.2
import PackageDescription

// The benchmarks for the figures in the documentation. They are a separate package so that users of the libraries do not build them.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-kerberos-sso", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // The floor: the same work as plain C loops on the same ticket.
        .target(name: "CFloor", linkerSettings: [.linkedLibrary("gssapi_krb5"), .linkedLibrary("krb5")]),
        // Output and child processes of the comparisons.
        .target(
            name: "BenchmarkSupport",
            dependencies: [
                .product(name: "Subprocess", package: "swift-subprocess"), .product(name: "SystemPackage", package: "swift-system"),
            ]
        ),
        .executableTarget(
            name: "TokenBenchmark",
            dependencies: [
                "CFloor",
                .product(name: "HTTPNegotiate", package: "swift-kerberos-sso"),
                .product(name: "Kerberos", package: "swift-kerberos-sso"),
                .product(name: "KerberosSSO", package: "swift-kerberos-sso"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
            ]
        ),
        .executableTarget(
            name: "HTTPBenchmark",
            dependencies: [
                "BenchmarkSupport",
                "CFloor",
                .product(name: "HTTPNegotiate", package: "swift-kerberos-sso"),
                .product(name: "Kerberos", package: "swift-kerberos-sso"),
                .product(name: "KerberosSSO", package: "swift-kerberos-sso"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
                .product(name: "NegotiateAsyncHTTPClient", package: "swift-kerberos-sso"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            resources: [.copy("peers.py")]
        ),
        .executableTarget(
            name: "RealmBenchmark",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "Kerberos", package: "swift-kerberos-sso"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
            ],
            resources: [.copy("k5realm.py"), .copy("programs.sh")]
        ),
        .executableTarget(
            name: "AgentBenchmark",
            dependencies: [
                "BenchmarkSupport",
                "CFloor",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            resources: [.copy("peers.sh")]
        ),
        .executableTarget(
            name: "InstructionBenchmark",
            dependencies: [
                "BenchmarkSupport",
                "CFloor",
                .product(name: "HTTPNegotiate", package: "swift-kerberos-sso"),
                .product(name: "Kerberos", package: "swift-kerberos-sso"),
                .product(name: "KerberosSSO", package: "swift-kerberos-sso"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
            ]
        ),
        .executableTarget(
            name: "ProxyBenchmark",
            dependencies: [
                "BenchmarkSupport",
                "CFloor",
                .product(name: "HTTPNegotiate", package: "swift-kerberos-sso"),
                .product(name: "KerberosSSO", package: "swift-kerberos-sso"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
                .product(name: "NegotiateAsyncHTTPClient", package: "swift-kerberos-sso"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            resources: [.copy("unpack.sh")]
        ),
    ]
)
