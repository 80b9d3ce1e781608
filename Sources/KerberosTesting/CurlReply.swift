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
