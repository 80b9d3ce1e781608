// swift-tools-version: 6.2
import PackageDescription

// What a figure in the documentation rests on. A package of its own, so that nobody who uses the libraries builds it.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-kerberos-sso", path: "..")],
    targets: [
        // The floor: the same work as a plain C loop on the same ticket.
        .target(name: "CFloor", linkerSettings: [.linkedLibrary("gssapi_krb5"), .linkedLibrary("krb5")]),
        .executableTarget(
            name: "TokenBenchmark",
            dependencies: [
                "CFloor",
                .product(name: "HTTPNegotiate", package: "swift-kerberos-sso"),
                .product(name: "Kerberos", package: "swift-kerberos-sso"),
                .product(name: "KerberosEngine", package: "swift-kerberos-sso"),
                .product(name: "KerberosTesting", package: "swift-kerberos-sso"),
            ]
        ),
    ]
)
