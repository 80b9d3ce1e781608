import Foundation
import KerberosTesting
import SignOnPolicy
import Testing

extension BrokenSetUp {
    private static let mustBeRoot = geteuid() == 0 ? nil : "only root can give a file away"

    static let caches = [
        BrokenSetUp("a cache of another user", failsAt: "cache", naming: "is owned by the user with uid 65534", obstacle: mustBeRoot) {
            try await withStation { station in
                try FileManager.default.setAttributes([.ownerAccountID: 65534], ofItemAtPath: "\(station.directory)/cache")
                return try await station.doctor()
            }
        },
        BrokenSetUp("a stale KCM socket", failsAt: "cache", naming: "/kcm.sock is stale", "its server is no longer running") {
            try await withStation(signsIn: false) { station in
                try await station.leaveAKilledAgent()
                // `ksso configure session` sets the variables to these values.
                let files = "\(station.runtime)/krb5.conf:\(station.realm.configurationPath)"
                return try await station.doctor(environment: ["KRB5_CONFIG": files, "KRB5CCNAME": "KCM:"])
            }
        },
        BrokenSetUp(
            "a full disk",
            failsAt: "cache",
            naming: "cannot be written",
            "the disk is full",
            obstacle: PrivateMounts.arePossible ? nil : PrivateMounts.reason
        ) {
            try await withStation { station in
                let folder = "\(station.directory)/full"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                let script = """
                    mount -t tmpfs -o size=64k none "$1"
                    cp "$2" "$1/cache"
                    dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || :
                    shift 2
                    exec "$@"
                    """
                return try await station.doctor(environment: ["KRB5CCNAME": "FILE:\(folder)/cache"]) { command in
                    PrivateMounts.command(script, [folder, "\(station.directory)/cache"] + command)
                }
            }
        },
    ]
}
