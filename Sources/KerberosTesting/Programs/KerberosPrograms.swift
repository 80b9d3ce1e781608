import Foundation
public import Kerberos

extension TestRealm {
    /// Signs in with MIT's kinit, by a password or a keytab.
    ///
    /// - Parameters:
    ///   - principal: The user or service.
    ///   - password: Its password, which reaches kinit by standard input.
    ///   - cache: Where the ticket goes; nil is the realm's own cache.
    ///   - options: Further options of kinit, such as `["-f", "-l", "60s"]`.
    ///   - clockOffset: How far kinit's clock is from the machine's; see ``run(_:_:environment:input:clockOffset:deadline:)``.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and kinit's words if it gets no ticket.
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

    /// The same with the keys of a keytab; nil is the realm's keytab.
    ///
    /// - Throws: As ``kinit(_:password:cache:options:clockOffset:)``.
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

    /// The tickets of a cache, as klist would list them.
    ///
    /// - Parameter cache: A name that this process can read too, such as `FILE:…`; nil is the realm's own cache.
    /// - Throws: `KerberosError` with the code `noCredentials` if there is no such cache.
    public func klist(cache: String? = nil) async throws -> CredentialCacheContents {
        let name = CredentialCacheName(rawValue: cache ?? "FILE:\(directory)/ccache")
        return try await KerberosClient(configuration).contents(of: name)
    }

    /// Gets a service ticket with MIT's kvno.
    ///
    /// - Returns: The version number of the service's key.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and kvno's words if it gets no ticket.
    @discardableResult
    public func kvno(
        _ service: String,
        cache: String? = nil,
        options: [String] = [],
        clockOffset: Duration? = nil
    ) async throws -> Int {
        let output = try await require("kvno", options + [service], cache: cache, clockOffset: clockOffset).output
        guard let version = output.split(separator: "\n").last?.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw KerberosTestingError(.commandFailed, "kvno gave no version number: \(output)")
        }
        return version
    }

    /// Fetches a page with curl, which proves who it is where it is asked to (`--negotiate`).
    ///
    /// - Parameters:
    ///   - url: The page.
    ///   - cache: Whose tickets; nil is the realm's own cache.
    ///   - options: Further options of curl, such as `["--cacert", server.certificatePath]`.
    ///   - input: What `-d @-` and the like read.
    /// - Returns: The last reply: a 401 that curl has answered is not it.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and curl's words if there is no reply at all.
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

/// What a server answered to curl.
public struct CurlReply: Sendable, Hashable {
    /// The status of the last reply, such as 200.
    public let status: Int
    /// The version of HTTP in which it came: `1.1` or `2`.
    public let version: String
    /// The fields of the last reply in their order, the names in lower case.
    public let fields: [Field]
    /// The body of the last reply.
    public let body: String

    /// A field of a reply's head.
    public struct Field: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value.
        public let value: String
    }

    /// The values of a field, whatever the case of its name.
    public subscript(name: String) -> [String] {
        fields.filter { $0.name == name.lowercased() }.map(\.value)
    }

    /// - Parameters:
    ///   - result: With the body on standard output, and `STATUS VERSION` at the end of standard error.
    ///   - headers: What `curl -D` writes: the heads of all the replies.
    init(_ result: CommandResult, headers: String) throws {
        let words = result.errors.split(whereSeparator: \.isNewline).last?.split(separator: " ") ?? []
        guard words.count == 2, let status = Int(words[0]) else {
            throw KerberosTestingError(.commandFailed, "curl told no status: \(result.errors)")
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
