internal import ArgumentParser

/// `ksso configure`: what other programs need to be told, so that they share the tickets.
struct ConfigureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "configure",
        abstract: "Set other programs up to share the tickets: print, install or check what they need.",
        subcommands: [ConfigureSession.self]
    )
}
