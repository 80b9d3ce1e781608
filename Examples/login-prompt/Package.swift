// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "login-prompt",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-kerberos-sso", path: "../..", traits: ["KerberosSSO"])],
    targets: [
        .executableTarget(
            name: "login-prompt",
            dependencies: [.product(name: "KerberosSSO", package: "swift-kerberos-sso")]
        )
    ]
)
