/// For whom and with whom a connection that carries tickets speaks. Connections are shared only within one identity.
package struct ConnectionIdentity: Sendable, Hashable {
    package let origin: Origin
    package let authorization: AuthorizationIdentity
    /// Whether the ticket is bound to the server's certificate; a connection that shows another certificate is not used then.
    package let bindsChannel: Bool
    /// The channel bindings of that certificate; nil for one that has none.
    package let channelBindings: [UInt8]?

    package init(origin: Origin, authorization: AuthorizationIdentity, bindsChannel: Bool, channelBindings: [UInt8]?) {
        self.origin = origin
        self.authorization = authorization
        self.bindsChannel = bindsChannel
        self.channelBindings = channelBindings
    }
}
