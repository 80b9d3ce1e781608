package import Kerberos

/// A step that does not fit Kerberos's single round trip.
package struct UnexpectedStep: Error {
    private let text: String

    package init(text: String) { self.text = text }
}

/// Returns the initiator's first token and discards the context.
package func firstToken(
    from credential: InitiatorCredential,
    flags: ContextFlags = [.mutualAuthentication, .integrity],
    channelBindings: ChannelBindings? = nil
) throws -> [UInt8] {
    switch try SPNEGOInitiator.begin(with: credential, flags: flags, channelBindings: channelBindings) {
    case .proceed(let token, _): return token
    case .established(let token, _): return token ?? []
    }
}
