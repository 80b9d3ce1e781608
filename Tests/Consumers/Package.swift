// swift-tools-version: 6.2
import PackageDescription

// A program that uses one product of this package, and lists only the trait of its name: the one that the environment's PRODUCT names.
let product = Context.environment["PRODUCT"] ?? "KerberosSSO"

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-kerberos-sso", path: "../..", traits: product == "Kerberos" ? [] : [.trait(name: product)])
    ],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [.product(name: product, package: "swift-kerberos-sso")],
            path: "Sources/\(product)"
        )
    ]
)
