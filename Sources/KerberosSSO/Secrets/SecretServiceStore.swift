public import Foundation
public import Kerberos
public import KerberosEngine
internal import SystemSupport

/// Stores passwords in the desktop's Secret Service (GNOME Keyring, KWallet, KeePassXC), using Debian's `secret-tool`.
///
/// Their attributes are `service` = `ksso` and `principal`. If the collection is locked, the desktop decides whether to prompt for its
/// password.
public struct SecretServiceStore: SecretStore {
    private let program: String
    private let environment: [String: String]

    /// Creates a store for the session's message bus; nil if there is no bus, or no `secret-tool` in `PATH`.
    public init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
        let bus = environment["XDG_RUNTIME_DIR"].map { "\($0)/bus" }
        let hasBus = environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false || bus.map(FileManager.default.fileExists) == true
        let folders = (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        let programs = folders.lazy.map { "\($0)/secret-tool" }
        guard hasBus, let program = programs.first(where: { unsafe access($0, X_OK) == 0 }) else { return nil }
        self.program = program
        self.environment = environment
    }

    /// `the Secret Service`.
    public var name: String { "the Secret Service" }

    /// The stored password; nil if there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the program cannot be run or does not exit in time. The other methods throw it
    ///   as well.
    public func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        let outcome = try await run(["lookup"], Self.attributes(of: principal), about: principal)
        // The program fails without a message if there is no password.
        guard outcome.status == 0 else { return nil }
        return outcome.output.isEmpty ? nil : outcome.output
    }

    /// Stores a password until it is removed.
    @discardableResult
    public func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        let label = "--label=Kerberos password of \(principal)"
        let outcome = try await run(["store", label], Self.attributes(of: principal), input: secret, about: principal)
        guard outcome.status == 0 else { throw Self.unusable(principal, "secret-tool could not store the password.") }
        return "in \(name) until you sign out"
    }

    /// Removes the password.
    @discardableResult
    public func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        guard try await secret(for: principal) != nil else { return false }
        let outcome = try await run(["clear"], Self.attributes(of: principal), about: principal)
        guard outcome.status == 0 else { throw Self.unusable(principal, "secret-tool could not remove the password.") }
        return true
    }

    private static func attributes(of principal: Principal) -> [String] { ["service", "ksso", "principal", principal.description] }

    private func run(
        _ command: [String],
        _ attributes: [String],
        input: Secret? = nil,
        about principal: Principal
    ) async throws(KerberosError) -> SecretToolRun.Outcome {
        // `secret-tool` would parse such a name as an option.
        guard !principal.description.hasPrefix("-") else { return SecretToolRun.Outcome(status: 1, output: Secret("")) }
        let run = SecretToolRun(program: program, arguments: command + attributes, environment: environment)
        guard let outcome = await BlockingCall.run({ run.outcome(input: input) }) else {
            throw Self.unusable(principal, "\(program) cannot be run, or did not exit in time.")
        }
        return outcome
    }

    private static func unusable(_ principal: Principal, _ message: String) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: principal.description, message: message)
    }
}

/// One run of `secret-tool`, without a shell. A secret is sent to its standard input or read from its standard output.
///
/// Blocks, so call it only on a thread that may block.
struct SecretToolRun: Sendable {
    /// The result of a run.
    struct Outcome: Sendable {
        /// The status as returned by waitpid(2).
        let status: Int32
        let output: Secret
    }

    let program: String
    let arguments: [String]
    let environment: [String: String]
    /// The time limit. The desktop may prompt for the password of its keyring meanwhile.
    var patience = Duration.seconds(60)

    private static let limit = 4096

    /// Runs the program until it exits. Returns nil if it cannot be run, writes too much, or does not exit in time. In the last two cases
    /// it is killed.
    func outcome(input: Secret?) -> Outcome? {
        guard let child = ChildProgram(program, arguments, environment: environment, showsErrors: false) else { return nil }
        defer { close(child.connection) }
        let deadline = ContinuousClock.now + patience
        if let input { Self.send(input, child.connection) }
        shutdown(child.connection, Int32(SHUT_WR))
        let output = Self.read(child, until: deadline)
        // After the end of its output the program should exit soon. If it does not, it is killed.
        if output != nil, let status = child.status(until: deadline) { return output.map { Outcome(status: status, output: $0) } }
        kill(child.process, SIGKILL)
        _ = child.status(until: .now + .seconds(1))
        return nil
    }

    /// A secret is short enough that the socket accepts it at once.
    private static func send(_ secret: Secret, _ connection: Int32) {
        unsafe secret.withUnsafeBytes { bytes in
            _ = unsafe Foundation.send(connection, bytes.baseAddress, bytes.count, Int32(Int(MSG_NOSIGNAL) | Int(MSG_DONTWAIT)))
        }
    }

    private static func read(_ child: ChildProgram, until deadline: ContinuousClock.Instant) -> Secret? {
        var bytes = [UInt8](repeating: 0, count: limit)
        defer { unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        var count = 0
        while count < limit {
            guard child.isReady(POLLIN, until: deadline) else { return nil }
            let part = unsafe bytes.withUnsafeMutableBytes {
                unsafe Foundation.read(child.connection, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if part == 0 { return Secret(bytes: bytes[..<count]) }
            guard part > 0 || errno == EINTR else { return nil }
            count += max(part, 0)
        }
        return nil
    }
}
