import Foundation

/// libfaketime, which gives one program another clock.
package enum ClockLibrary {
    private static let name = "faketime/libfaketimeMT.so.1"

    /// The variables with which a program sees the machine's clock put forward by so many whole seconds, or back.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` where libfaketime is not installed.
    static func environment(offset: Duration) throws -> [String: String] {
        let seconds = offset.components.seconds
        return [
            "LD_PRELOAD": try path(),
            "FAKETIME": seconds < 0 ? "\(seconds)s" : "+\(seconds)s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
    }

    /// Installed, or unpacked below `.build` of the package whose tests run.
    package static func path(roots: [String] = ["", "\(FileManager.default.currentDirectoryPath)/.build/unpacked"]) throws -> String {
        let folders = roots.flatMap { root in
            ["usr/lib", "usr/lib64", "usr/local/lib"].flatMap { part in
                let folder = "\(root)/\(part)"
                // A folder for each architecture.
                let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
                return [folder] + names.sorted().map { "\(folder)/\($0)" }
            }
        }
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.fileExists(atPath:)) else {
            let message = "A program's clock is set by libfaketime, which is not there; install the Debian package libfaketime: "
            throw KerberosTestingError(.programMissing, message + "apt-get install libfaketime")
        }
        return path
    }
}
