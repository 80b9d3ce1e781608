import Foundation
import TestSupport

/// A mount namespace of a child process's own, in which a test changes the machine's files and nobody sees it.
enum PrivateMounts {
    /// Whether this machine lets the user of the tests have one, with an overlay.
    static let arePossible: Bool = {
        guard geteuid() == 0 else { return false }
        let script = """
            mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work &&
            mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
            """
        return succeeds(command(script, []))
    }()

    static let reason = "this needs root and a private mount namespace with an overlay"

    /// The command that runs a shell script so; the words are its arguments.
    static func command(_ script: String, _ words: [String]) -> [String] {
        ["unshare", "--mount", "sh", "-ec", script, "sh"] + words
    }
}
