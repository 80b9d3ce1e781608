/// The API's own header fields.
package enum AgentHeader {
    /// Of every response: which configurations are in force. Another value than before means: load them again.
    package static let configurationVersion = "KSSO-Configuration"
    /// Why `auth-request` gives no ticket.
    package static let reason = "KSSO-Reason"
    /// The URL that nginx's `auth_request` is about.
    package static let originalURL = "X-Original-URL"
}
