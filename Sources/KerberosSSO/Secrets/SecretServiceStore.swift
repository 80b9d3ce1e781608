public import Foundation
public import Kerberos
public import KerberosEngine

/// Keeps passwords in the desktop's Secret Service (GNOME Keyring, KWallet, KeePassXC), by Debian's `secret-tool`.
///
/// They are found there by the attributes `service` = `ksso` and `principal`. Whether a locked one is unlocked is for the desktop to ask.
public struct SecretServiceStore: SecretStore {
    private let program: String
    private let environment: [String: String]

    /// The service of the session's message bus; nil where there is no bus, or `PATH` leads to no `secret-tool`.
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

    /// The password; nil where there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where the program can't be run or does not end in time, as do the others.
    public func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        let outcome = try await run(["lookup"], Self.attributes(of: principal), about: principal)
        // It says nothing where there is none.
        guard outcome.status == 0 else { return nil }
        return outcome.output.isEmpty ? nil : outcome.output
    }

    /// Keeps a password until it is forgotten.
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
        // It would take such a name for an option.
        guard !principal.description.hasPrefix("-") else { return SecretToolRun.Outcome(status: 1, output: Secret("")) }
        let run = SecretToolRun(program: program, arguments: command + attributes, environment: environment)
        guard let outcome = await BlockingCall.run({ run.outcome(input: input) }) else {
            throw Self.unusable(principal, "\(program) can't be run, or did not come to an end.")
        }
        return outcome
    }

    private static func unusable(_ principal: Principal, _ message: String) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: principal.description, message: message)
    }
}

/// One run of `secret-tool`: no shell; a secret goes to its standard input, and one comes from its standard output.
///
/// It blocks: it belongs to a thread that may wait.
struct SecretToolRun: Sendable {
    /// How it ended.
    struct Outcome: Sendable {
        /// The status of waitpid(2).
        let status: Int32
        let output: Secret
    }

    let program: String
    let arguments: [String]
    let environment: [String: String]
    /// A desktop may ask for the password of its keyring meanwhile.
    var patience = Duration.seconds(60)

    private static let limit = 4096

    /// Runs it to its end. Nil where it can't be run, says too much, or does not end in time: it is killed then.
    func outcome(input: Secret?) -> Outcome? {
        guard let child = ChildProgram(program, arguments, environment: environment, showsErrors: false) else { return nil }
        defer { close(child.connection) }
        let deadline = ContinuousClock.now + patience
        if let input { Self.send(input, child.connection) }
        shutdown(child.connection, Int32(SHUT_WR))
        let output = Self.read(child, until: deadline)
        // At the end of its output it is about to end; one that lingers is ended.
        if output != nil, let status = child.status(until: deadline) { return output.map { Outcome(status: status, output: $0) } }
        kill(child.process, SIGKILL)
        _ = child.status(until: .now + .seconds(1))
        return nil
    }

    /// It is short enough for the socket to take it at once.
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
