// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "agent-client",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-kerberos-sso", path: "../..", traits: ["SSOAgentClient"])],
    targets: [
        .executableTarget(
            name: "agent-client",
            dependencies: [
                .product(name: "HTTPNegotiate", package: "swift-kerberos-sso"),
                .product(name: "SSOAgentClient", package: "swift-kerberos-sso"),
            ]
        )
    ]
)
