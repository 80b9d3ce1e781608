import Foundation
public import Kerberos

extension TestRealm {
    /// Signs in with MIT's kinit and a password.
    ///
    /// - Parameters:
    ///   - principal: The user or service.
    ///   - password: Its password, which kinit reads from standard input.
    ///   - cache: The cache for the ticket; nil for the realm's default cache.
    ///   - options: Further options of kinit, such as `["-f", "-l", "60s"]`.
    ///   - clockOffset: The offset of kinit's clock; see ``run(_:_:environment:input:clockOffset:deadline:)``.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and kinit's output if it gets no ticket.
    @discardableResult
    public func kinit(
        _ principal: String,
        password: String,
        cache: String? = nil,
        options: [String] = [],
        clockOffset: Duration? = nil
    ) async throws -> CommandResult {
        try await require("kinit", options + [principal], cache: cache, input: "\(password)\n", clockOffset: clockOffset)
    }

    /// Signs in with MIT's kinit and the keys of a keytab; nil for the realm's keytab.
    ///
    /// - Throws: The errors of ``kinit(_:password:cache:options:clockOffset:)``.
    @discardableResult
    public func kinit(
        _ principal: String,
        keytab: String?,
        cache: String? = nil,
        options: [String] = [],
        clockOffset: Duration? = nil
    ) async throws -> CommandResult {
        let arguments = ["-k", "-t", keytab ?? keytabPath] + options + [principal]
        return try await require("kinit", arguments, cache: cache, clockOffset: clockOffset)
    }

    /// Returns the tickets in a cache, as klist lists them.
    ///
    /// - Parameter cache: The name of a cache that this process can read, such as `FILE:…`; nil for the realm's default cache.
    /// - Throws: `KerberosError` with the code `noCredentials` if there is no such cache.
    public func klist(cache: String? = nil) async throws -> CredentialCacheContents {
        let name = CredentialCacheName(rawValue: cache ?? "FILE:\(directory)/ccache")
        return try await KerberosClient(configuration).contents(of: name)
    }

    /// Gets a service ticket with MIT's kvno.
    ///
    /// - Returns: The version number of the service's key.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and kvno's output if it gets no ticket.
    @discardableResult
    public func kvno(
        _ service: String,
        cache: String? = nil,
        options: [String] = [],
        clockOffset: Duration? = nil
    ) async throws -> Int {
        let output = try await require("kvno", options + [service], cache: cache, clockOffset: clockOffset).output
        guard let version = output.split(separator: "\n").last?.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw KerberosTestingError(.commandFailed, "kvno printed no version number: \(output)")
        }
        return version
    }

    /// Fetches a page with curl, which authenticates if the server requests it (`--negotiate`).
    ///
    /// - Parameters:
    ///   - url: The page.
    ///   - cache: The cache with the user's tickets; nil for the realm's default cache.
    ///   - options: Further options of curl, such as `["--cacert", server.certificatePath]`.
    ///   - input: The standard input, for options such as `-d @-`.
    /// - Returns: The last reply, not a 401 that curl has answered.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and curl's output if there is no reply.
    public func curl(
        _ url: String,
        cache: String? = nil,
        options: [String] = [],
        input: String? = nil
    ) async throws -> CurlReply {
        let headers = "\(directory)/\(UUID().uuidString).headers"
        defer { try? FileManager.default.removeItem(atPath: headers) }
        let common = ["--no-progress-meter", "--negotiate", "-u", ":", "-D", headers, "-w", "%{stderr}%{http_code} %{http_version}"]
        let result = try await require("curl", common + options + [url], cache: cache, input: input)
        return try CurlReply(result, headers: String.contents(ofFile: headers))
    }

    private func require(
        _ program: String,
        _ arguments: [String],
        cache: String?,
        input: String? = nil,
        clockOffset: Duration? = nil
    ) async throws -> CommandResult {
        let environment = cache.map { ["KRB5CCNAME": $0] } ?? [:]
        let result = try await run(program, arguments, environment: environment, input: input, clockOffset: clockOffset)
        guard result.exitStatus == 0 else {
            let words = ([program] + arguments).joined(separator: " ")
            throw KerberosTestingError(.commandFailed, "\(words) exited with \(result.exitStatus): \(result.errors)\(result.output)")
        }
        return result
    }
}

/// A server's reply to curl.
public struct CurlReply: Sendable, Hashable {
    /// The status of the last reply, such as 200.
    public let status: Int
    /// The HTTP version of the reply: `1.1` or `2`.
    public let version: String
    /// The header fields of the last reply in order, with names in lower case.
    public let fields: [Field]
    /// The body of the last reply.
    public let body: String

    /// A header field of a reply.
    public struct Field: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value.
        public let value: String
    }

    /// The values of a header field, regardless of the case of its name.
    public subscript(name: String) -> [String] {
        fields.filter { $0.name == name.lowercased() }.map(\.value)
    }

    /// Creates a reply from curl's output.
    ///
    /// - Parameters:
    ///   - result: The body is on standard output, and `STATUS VERSION` at the end of standard error.
    ///   - headers: The output of `curl -D`: the heads of all replies.
    init(_ result: CommandResult, headers: String) throws {
        let words = result.errors.split(whereSeparator: \.isNewline).last?.split(separator: " ") ?? []
        guard words.count == 2, let status = Int(words[0]) else {
            throw KerberosTestingError(.commandFailed, "curl printed no status: \(result.errors)")
        }
        self.status = status
        version = String(words[1])
        body = result.output
        let lines = headers.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let start = lines.lastIndex { $0.hasPrefix("HTTP/") } ?? lines.endIndex
        fields = lines[start...].dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return Field(name: line[..<colon].lowercased(), value: String(value))
        }
    }
}
