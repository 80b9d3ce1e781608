internal import ArgumentParser
internal import KerberosTesting

struct RealmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "realm",
        abstract: "A private KDC for tests.",
        subcommands: [RealmRun.self, Fault.self, KDC.self, Clock.self]
    )

    struct Fault: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Inside of ksso realm run: begin a fault between clients and KDC; pass ends it.",
            discussion: NetworkFault.forms
        )

        @Argument(help: "The fault, such as drop or delay=200ms.")
        var fault: String
        @Option(help: "The realm; by default the first one.")
        var realm: String?
        @Flag(help: "For datagrams only.")
        var udp = false
        @Flag(help: "For connections only.")
        var tcp = false
        @Option(
            help: ArgumentHelp(
                "For so many requests only, counted for each KDC and for datagrams and connections apart.",
                valueName: "number"
            )
        )
        var next: Int?

        func validate() throws {
            guard fault == "refuse", next != nil else { return }
            throw ValidationError(
                "--next counts requests, and no request reaches a port that refuse closes: end it with ksso realm fault pass."
            )
        }

        func run() async throws {
            try await RealmControl.send(RealmOrder(realm: realm, action: .fault(fault, onUDP: udp, onTCP: tcp, next: next)))
        }
    }

    struct KDC: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "kdc",
            abstract: "Inside of ksso realm run: stop, start, pause or resume a KDC."
        )

        @Argument(help: "stop, start, pause or resume.")
        var action: RealmOrder.KDCAction
        @Option(help: ArgumentHelp("Which of the realm's KDCs, from 1.", valueName: "number"))
        var number = 1
        @Option(help: "The realm; by default the first one.")
        var realm: String?

        func run() async throws {
            try await RealmControl.send(RealmOrder(realm: realm, action: .kdc(action, number: number)))
        }
    }

    struct Clock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Inside of ksso realm run: set the KDCs' clock, by starting them again.")

        @Argument(parsing: .allUnrecognized, help: "By how much it is off: +5m, -90s; 0 is this machine's time.")
        var offset: [String]
        @Option(help: "The realm; by default the first one.")
        var realm: String?

        func run() async throws {
            let words = offset.filter { $0 != "--" }
            guard words.count == 1, let offset = ClockOffset(argument: words[0]) else { throw ValidationError(ClockOffset.form) }
            try await RealmControl.send(RealmOrder(realm: realm, action: .clock(seconds: Int(offset.duration.components.seconds))))
        }
    }
}

extension RealmOrder.KDCAction: ExpressibleByArgument {}
