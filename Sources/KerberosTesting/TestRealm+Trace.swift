import Foundation
public import Kerberos

extension TestRealm {
    /// The file to which programs that ``run(_:_:environment:input:clockOffset:deadline:)`` starts write libkrb5's trace (`KRB5_TRACE`).
    ///
    /// It says what libkrb5 tried and why; it holds no keys. Other programs, and clients in process, write there if they are told to.
    public var tracePath: String { "\(directory)/trace.log" }

    /// The trace so far; empty if there is none.
    public func trace() throws -> String {
        try String.contents(ofFile: tracePath)
    }

    /// A client of the realm in this process, whose trace goes to ``tracePath`` too.
    ///
    /// - Parameter clockOffset: How far the client takes the machine's clock to be off, as ``configuration(clockOffset:)`` says.
    public func makeClient(clockOffset: Duration = .zero) -> KerberosClient { makeClient(configuration(clockOffset: clockOffset)) }

    /// A client in this process of what was made of ``configuration``, whose trace goes to ``tracePath`` too.
    public func makeClient(_ configuration: RealmConfiguration) -> KerberosClient {
        let path = tracePath
        return KerberosClient(configuration) { line in
            // Opened for each line, like libkrb5's own: the file goes with the realm, and a client may outlive it.
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            _ = Array(line.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}
