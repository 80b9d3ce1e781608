internal import HTTPTypes
internal import SignOnPolicy

extension HTTPFields {
    /// Creates header fields from a message, marked so that no HTTP/2 peer stores them in its compression table.
    init(wire: [String: String]) throws(AuthorizationError) {
        self.init()
        for (name, value) in wire {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                throw AuthorizationError(.agentUnavailable, "The agent's response has an invalid header field. Restart the agent.")
            }
            var field = HTTPField(name: name, value: value)
            field.indexingStrategy = .disallow
            append(field)
        }
    }
}
