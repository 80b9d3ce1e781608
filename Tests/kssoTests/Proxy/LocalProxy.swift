extension Workstation {
    /// Runs a closure while a local proxy of the user serves, with the address that its first line names.
    ///
    /// - Returns: The exit status and the output of the proxy.
    @discardableResult
    func withLocalProxy(
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        _ body: (String) async throws -> Void
    ) async throws -> (status: Int, output: String) {
        var address = ""
        let end = try await withDaemon(
            ["ksso", "proxy", "run", "--listen", "127.0.0.1:0"] + arguments,
            on: self,
            environment: ["no_proxy": ""].merging(environment) { $1 },
            isReady: { conversation in
                try await conversation.wait(for: "The proxy listens on ")
                address = String(try await conversation.wait(for: ".\n").dropLast(2))
            }
        ) {
            try await body(address)
        }
        return (end.status, end.output)
    }
}
