import Foundation
import KerberosTesting
import NIOCore
import NIOPosix
import Subprocess
import Synchronization
import TestSupport
import Testing

/// A card reader in which a test inserts a ``VirtualCard`` and from which it removes it, of a PC/SC service (pcscd) that is the test's own.
///
/// pcscd runs without the drivers of the machine's readers, and in namespaces with a `/run` and a network of its own. Its driver is vpcd,
/// which listens in that network: a connection is a card, and is closed to remove it. vpcd looks for one about every 400 ms.
final class CardReader: Sendable {
    /// Whether this user can run the service on this machine.
    static let isPossible = geteuid() == 0 && succeeds(namespaces + ["mount", "-t", "tmpfs", "none", "/run"])

    static let reason = "this needs root and private namespaces of mounts and of the network"

    private static let namespaces = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net"]

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private struct Contents {
        var connection: (any Channel)?
        /// How often the driver asked for the card since it was inserted or removed.
        var questions = 0
    }

    private let contents = Mutex(Contents())
    private let folder: String
    private let software: CardSoftware
    private let network: NetworkNamespace

    private init(folder: String, software: CardSoftware, network: NetworkNamespace) {
        (self.folder, self.software, self.network) = (folder, software, network)
    }

    /// The environment in which OpenSC's module, and every other client of PC/SC, finds the reader.
    var environment: [String: String] {
        ["PCSCLITE_CSOCK_NAME": "\(folder)/pcscd.comm", "LD_LIBRARY_PATH": software.module.folder, "OPENSC_CONF": "\(folder)/opensc.conf"]
    }

    /// The certificate's setting.
    var identity: String { "PKCS11:module_name=\(software.module.path)" }

    /// Inserts a card, and returns when pcscd knows it, which takes up to a second.
    func insert(_ card: VirtualCard) async throws {
        await card.reset()
        try await connect(card)
        // The driver asks three times before pcscd tells its clients, and again when it looks for the card the next time.
        try await eventually { contents.withLock { $0.questions } > 3 }
    }

    /// Removes the card, and returns when pcscd knows it, which takes about a second.
    func remove() async throws {
        eject()
        // The driver accepts a connection without a card when it misses the last one, and another when it looks for a card the next time.
        for _ in 1...2 {
            try await connect(nil)
            try await eventually { contents.withLock { $0.questions } > 0 }
        }
    }

    private func eject() { contents.withLock { $0.connection }?.close(promise: nil) }

    private func connect(_ card: VirtualCard?) async throws {
        let descriptor = try await network.connection(port: Self.port)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        let connection = try await bootstrap.withConnectedSocket(descriptor) { channel in
            channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
        }
        contents.withLock { $0 = Contents(connection: connection.channel) }
        // Ends with the connection, which fails if the card is removed while it answers.
        Task { try? await serve(connection, card) }
    }

    /// Answers the driver's messages, each of which follows its length. Without a card, the first of them ends the connection.
    private func serve(_ connection: Connection, _ card: VirtualCard?) async throws {
        try await connection.executeThenClose { input, output in
            var received = ByteBuffer()
            for try await var bytes in input {
                received.writeBuffer(&bytes)
                while let slice = received.readLengthPrefixedSlice(as: UInt16.self) {
                    let message = Array(slice.readableBytesView)
                    if message == Self.question { countQuestion(on: connection.channel) }
                    guard let card else { return }
                    guard let answer = await Self.answer(message, of: card) else { continue }
                    var reply = ByteBuffer()
                    try reply.writeLengthPrefixed(as: UInt16.self) { $0.writeBytes(answer) }
                    try await output.write(reply)
                }
                // The driver sends a length and its message separately, and the kernel holds the second until the first is acknowledged.
                try await connection.channel.setOption(.tcpOption(.init(rawValue: TCP_QUICKACK)), value: 1).get()
            }
        }
    }

    private func countQuestion(on connection: any Channel) {
        contents.withLock { if $0.connection === connection { $0.questions += 1 } }
    }

    /// The message that asks for the answer to reset, and so for the card.
    private static let question: [UInt8] = [4]

    /// Returns the answer to a message of one byte, which is for the reader, or to a longer one, which is for the card.
    private static func answer(_ message: [UInt8], of card: VirtualCard) async -> [UInt8]? {
        guard message != question else { return VirtualCard.answerToReset }
        guard message.count == 1 else { return await card.respond(to: message) }
        await card.reset()  // 0: power off, 1: power on, 2: reset
        return nil
    }
}

// MARK: - The service

extension CardReader {
    /// The port of vpcd's first slot, in the service's network. The second slot has the next one, and is always empty.
    private static let port = 35963

    /// Runs pcscd until standard input is closed, as the kernel does when this process ends in any way, or until the shell is killed. $1 is
    /// the folder, $2 is pcscd.
    private static let script = """
        trap 'kill $service 2>/dev/null; wait; rm -rf "$1"' EXIT
        \(namespaces.joined(separator: " ")) sh -ec '
            mount -t tmpfs none /run
            mkdir /run/pcscd
            mount --bind "$1" /run/pcscd
            if [ -d /usr/lib/pcsc/drivers ]; then mount -t tmpfs none /usr/lib/pcsc/drivers; fi
            exec "$2" --foreground --config "$1/readers"' sh "$1" "$2" </dev/null >"$1/log" 2>&1 & service=$!
        until [ -S "$1/pcscd.comm" ]; do kill -0 $service 2>/dev/null || { cat "$1/log"; exit 1; }; sleep 0.02; done
        echo "ready $service."
        read -r _ || true
        """

    /// Runs a closure with an empty reader. The service ends when the closure does, or when this process does.
    nonisolated(nonsending) fileprivate static func run<R>(
        in folder: String,
        _ software: CardSoftware,
        _ body: nonisolated(nonsending) (CardReader) async throws -> R
    ) async throws -> R {
        try writeSettings(in: folder, software)
        let variables = software.service.variables.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        var result: Result<R, any Error>?
        _ = try await Subprocess.run(
            .name("sh"),
            arguments: ["-ec", script, "sh", folder, software.service.path],
            environment: .inherit.updating(Dictionary(uniqueKeysWithValues: variables)),
            input: .inputWriter,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var output = ""
            for try await bytes in execution.standardOutput {
                output += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                if output.hasSuffix(".\n") { break }
            }
            do {
                guard let process = output.wholeMatch(of: /ready (\d+)\.\n/)?.1 else {
                    throw KerberosTestingError(.serverNotReady, "pcscd did not start: \(output)")
                }
                let network = try await NetworkNamespace(path: "/proc/\(process)/ns/net")
                let reader = CardReader(folder: folder, software: software, network: network)
                defer { reader.eject() }
                result = .success(try await body(reader))
            } catch {
                result = .failure(error)
            }
            try await execution.standardInputWriter.finish()
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    private static func writeSettings(in folder: String, _ software: CardSoftware) throws {
        try FileManager.default.createDirectory(atPath: "\(folder)/readers", withIntermediateDirectories: false)
        let reader = """
            FRIENDLYNAME "Virtual PCD"
            DEVICENAME /dev/null:\(port)
            LIBPATH \(software.driver.path)
            CHANNELID \(port)

            """
        try reader.write(toFile: "\(folder)/readers/virtual", atomically: false, encoding: .utf8)
        // Neither the machine's settings nor a copy of the card in the user's home.
        let settings = "app default { card_drivers = PIV-II; framework pkcs15 { use_file_caching = no; } }\n"
        try settings.write(toFile: "\(folder)/opensc.conf", atomically: false, encoding: .utf8)
    }
}

/// The software between a program and the virtual reader.
struct CardSoftware {
    /// OpenSC's PKCS #11 module.
    let module: LoadableLibrary
    let driver: LoadableLibrary
    let service: StockProgram

    /// Nil if something of it is missing.
    static let found: CardSoftware? = {
        guard let module = LoadableLibrary.openSC, let driver = LoadableLibrary.readerDriver, let service = StockProgram.cardService else {
            return nil
        }
        return CardSoftware(module: module, driver: driver, service: service)
    }()
}

/// Runs a closure with an empty card reader of its own.
nonisolated(nonsending) func withCardReader<R>(_ body: nonisolated(nonsending) (CardReader) async throws -> R) async throws -> R {
    let software = try #require(CardSoftware.found)
    return try await withFolder { folder in try await CardReader.run(in: folder, software, body) }
}
