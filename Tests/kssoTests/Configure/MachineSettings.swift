import KerberosTesting

/// An `/etc` and a `/var/lib` of a script's own, for settings that apply to every user of the machine.
enum MachineSettings {
    /// Runs a script as root; its changes are invisible to other processes, and are discarded with it.
    static func run(
        _ script: String,
        _ words: String...,
        on station: Workstation,
        environment: [String: String] = [:]
    ) async throws -> CommandResult {
        let cover = """
            mount -t tmpfs none /mnt
            mkdir /mnt/etc /mnt/etc-work /mnt/lib /mnt/lib-work
            mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/etc-work /etc
            mount -t overlay overlay -o lowerdir=/var/lib,upperdir=/mnt/lib,workdir=/mnt/lib-work /var/lib
            rm -rf /etc/ksso /etc/firefox /etc/chromium/policies /etc/gitconfig /etc/pip.conf /var/lib/ksso

            """
        return try await station.run(PrivateMounts.command(cover + script, words), environment: environment)
    }
}
