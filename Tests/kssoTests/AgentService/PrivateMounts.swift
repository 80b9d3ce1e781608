import Foundation
import TestSupport

/// A private mount namespace for a child process, in which a test can change system files without affecting other processes.
enum PrivateMounts {
    /// Whether the user that runs the tests can create such a namespace, with an overlay, on this machine.
    static let arePossible: Bool = {
        guard geteuid() == 0 else { return false }
        let script = """
            mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work &&
            mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
            """
        return succeeds(command(script, []))
    }()

    static let reason = "this needs root and a private mount namespace with an overlay"

    /// The command that runs a shell script in such a namespace; the words are the script's arguments.
    static func command(_ script: String, _ words: [String]) -> [String] {
        ["unshare", "--mount", "sh", "-ec", script, "sh"] + words
    }
}
