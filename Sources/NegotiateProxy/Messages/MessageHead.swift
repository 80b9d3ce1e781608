/// The head of a request.
package struct RequestHead: Sendable, Hashable {
    package var method: String
    /// The request target, as received or as it is sent.
    package var target: String
    /// The minor version of HTTP/1: 0 or 1.
    package var minorVersion = 1
    package var fields = HeadFields()

    package init(method: String, target: String, minorVersion: Int = 1, fields: HeadFields = HeadFields()) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.fields = fields
    }

    /// The head as HTTP/1.1, which this proxy speaks to every server.
    package var bytes: [UInt8] {
        var bytes = Array("\(method) \(target) HTTP/1.1\r\n".utf8)
        fields.write(to: &bytes)
        bytes += [0x0D, 0x0A]
        return bytes
    }

    /// Whether the sender keeps the connection open after the response (RFC 9112 section 9.3).
    package var keepsConnection: Bool { fields.keepConnection(minorVersion: minorVersion) }

    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 section 10.1.1).
    package var expectsContinue: Bool { minorVersion == 1 && fields.tokens("Expect").contains("100-continue") }
}

/// The head of a response.
package struct ResponseHead: Sendable, Hashable {
    package var status: Int
    package var reason: String
    /// The minor version of HTTP/1: 0 or 1.
    package var minorVersion = 1
    package var fields = HeadFields()

    package init(status: Int, reason: String, minorVersion: Int = 1, fields: HeadFields = HeadFields()) {
        self.status = status
        self.reason = reason
        self.minorVersion = minorVersion
        self.fields = fields
    }

    /// The head as HTTP/1.1.
    package var bytes: [UInt8] {
        var bytes = Array("HTTP/1.1 \(status) \(reason)\r\n".utf8)
        fields.write(to: &bytes)
        bytes += [0x0D, 0x0A]
        return bytes
    }

    package var isInterim: Bool { 100..<200 ~= status && status != 101 }

    /// Whether the server keeps the connection open after the response (RFC 9112 section 9.3).
    package var keepsConnection: Bool { fields.keepConnection(minorVersion: minorVersion) }
}

extension HeadFields {
    /// Whether a message of this minor version with these fields leaves its connection open.
    fileprivate func keepConnection(minorVersion: Int) -> Bool {
        let options = Set(tokens("Connection") + tokens("Proxy-Connection"))
        return !options.contains("close") && (minorVersion == 1 || options.contains("keep-alive"))
    }
}
