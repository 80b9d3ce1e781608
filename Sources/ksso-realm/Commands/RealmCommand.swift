internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import KerberosTesting
internal import SystemSupport

/// The program `ksso-realm`. Users type `ksso realm`, which executes it, so its messages and its help say that.
struct RealmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ksso realm",
        abstract: "Run a private KDC for tests, and control it.",
        discussion: """
            EXAMPLES:
              ksso realm run --user alice:secret -- kinit alice
              ksso realm fault delay=200ms
            """,
        version: ProgramVersion.current,
        subcommands: [RealmRun.self, Fault.self, KDC.self, Clock.self]
    )

    /// Explains where the words of this program are completed, and exits. The generated script would contain functions that are named like
    /// the command, with its space.
    static func refuseCompletionScript() -> Never {
        let failure = CommandFailure(
            .usage,
            "the shell completes ksso realm with the script of ksso: ksso --generate-completion-script SHELL"
        )
        failure.report()
        _exit(failure.status.rawValue)
    }

    struct Fault: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "fault",
            abstract: "Start a fault between clients and KDC, or end it with pass; runs inside ksso realm run.",
            discussion: """
                \(NetworkFault.forms.prefix(1).uppercased())\(NetworkFault.forms.dropFirst())

                EXAMPLES:
                  ksso realm fault drop --udp
                  ksso realm fault pass
                """
        )

        @Argument(help: "The fault, such as drop or delay=200ms.", completion: .list(NetworkFault.names))
        var fault: String
        @Option(help: "Select this realm; by default the first one.")
        var realm: String?
        @Flag(help: "Apply the fault to datagrams only.")
        var udp = false
        @Flag(help: "Apply the fault to connections only.")
        var tcp = false
        @Option(
            help: ArgumentHelp(
                "Apply the fault to this many requests, counted separately for each KDC and for datagrams and connections.",
                valueName: "number"
            )
        )
        var next: Int?

        /// Checked only here, so that an unknown option is reported before its value is taken for a fault.
        private func check() throws {
            if NetworkFault(words: fault) == nil { throw CommandFailure(.usage, NetworkFault.forms) }
            guard fault == "refuse", next != nil else { return }
            throw CommandFailure(
                .usage,
                "--next cannot be combined with refuse, because no request reaches a closed port. To end the fault: ksso realm fault pass"
            )
        }

        func run() async throws {
            try check()
            try await RealmControl.send(RealmOrder(realm: realm, action: .fault(fault, onUDP: udp, onTCP: tcp, next: next)))
        }
    }

    struct KDC: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "kdc",
            abstract: "Stop, start, pause or resume a KDC; runs inside ksso realm run.",
            discussion: """
                EXAMPLES:
                  ksso realm kdc stop
                  ksso realm kdc pause --number 2
                """
        )

        @Argument(help: "stop, start, pause or resume.")
        var action: RealmOrder.KDCAction
        @Option(help: ArgumentHelp("Select this KDC of the realm, counted from 1.", valueName: "number"))
        var number = 1
        @Option(help: "Select this realm; by default the first one.")
        var realm: String?

        func run() async throws {
            try await RealmControl.send(RealmOrder(realm: realm, action: .kdc(action, number: number)))
        }
    }

    struct Clock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clock",
            abstract: "Set the clock of the KDCs, which restarts them; runs inside ksso realm run.",
            usage: "ksso realm clock <offset> [--realm <realm>]",
            discussion: """
                EXAMPLES:
                  ksso realm clock +5m
                  ksso realm clock 0
                """
        )

        @Argument(parsing: .allUnrecognized, help: "The offset from this machine's time, such as +5m, -90s or 0.")
        var offset: [String]
        @Option(help: "Select this realm; by default the first one.")
        var realm: String?

        private var parsed: ClockOffsetArgument? {
            let words = offset.filter { $0 != "--" }
            return words.count == 1 ? ClockOffsetArgument(argument: words[0]) : nil
        }

        func validate() throws {
            if let option = offset.first(where: { $0.hasPrefix("--") && $0 != "--" }) {
                throw ValidationError("Unknown option '\(option)'")
            }
            if parsed == nil { throw ValidationError(ClockOffsetArgument.form) }
        }

        func run() async throws {
            guard let offset = parsed else { return }
            try await RealmControl.send(RealmOrder(realm: realm, action: .clock(seconds: Int(offset.duration.components.seconds))))
        }
    }
}

extension RealmOrder.KDCAction: ExpressibleByArgument {}
