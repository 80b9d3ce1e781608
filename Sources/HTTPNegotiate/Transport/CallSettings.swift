/// What a caller chose for all its requests.
package struct CallSettings: Sendable {
    package var mutualAuthentication: MutualAuthentication?
    package var unboundTLS: UnboundTLS
    package var maximumLegs: Int
    package var maximumRedirects: Int
    package var maximumReplayableBody: Int
    package var principal: String?
    package var isUserInterfaceEnabled: Bool

    package init(
        mutualAuthentication: MutualAuthentication?,
        unboundTLS: UnboundTLS,
        maximumLegs: Int,
        maximumRedirects: Int,
        maximumReplayableBody: Int,
        principal: String?,
        isUserInterfaceEnabled: Bool
    ) {
        self.mutualAuthentication = mutualAuthentication
        self.unboundTLS = unboundTLS
        self.maximumLegs = maximumLegs
        self.maximumRedirects = maximumRedirects
        self.maximumReplayableBody = maximumReplayableBody
        self.principal = principal
        self.isUserInterfaceEnabled = isUserInterfaceEnabled
    }
}
