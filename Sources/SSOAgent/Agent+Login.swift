internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine

extension Agent {
    /// What sees that the user locks the screen or leaves, where a profile in force makes something of it.
    func makeLoginWatch(_ current: CurrentExtension) -> LoginWatch {
        LoginWatch(
            LoginWatch.Options(
                environment: options.environment,
                user: geteuid(),
                isWanted: { current.value.policy.configurations.contains(where: \.dependsOnLogin) },
                log: journal.failure
            )
        )
    }
}

extension ExtensionConfiguration {
    /// Whether it matters what the user does at the machine.
    fileprivate var dependsOnLogin: Bool {
        sessionLimits.signOutOnLock || sessionLimits.signOutOnSessionEnd || screenLockedBehavior != nil
    }
}
