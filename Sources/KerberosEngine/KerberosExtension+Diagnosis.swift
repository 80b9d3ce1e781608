package import HTTPNegotiate
package import Kerberos

extension KerberosExtension {
    /// libkrb5 for a realm, set up as for requests: the profile's KDCs, the krb5.conf behind it.
    package func diagnosticClient(for realm: String) -> KerberosClient { clients.makeClient(for: realm) }

    /// libkrb5 for the credential caches.
    package var cacheClient: KerberosClient { clients.local }

    /// The service that a ticket is asked for when a principal answers a plan's challenge.
    package func service(of plan: AuthorizationPlan, for session: Session) throws(KerberosError) -> Principal {
        try plan.service(for: session)
    }

    /// The same profiles over tickets in another cache: what is made or asked for there leaves the user's own caches as they are.
    package func copy(over cache: CredentialCacheName) -> KerberosExtension {
        var options = options
        options.defaultCacheName = cache.rawValue
        options.cacheSocket = nil
        options.additionalCacheDirectory = nil
        options.prompter = nil
        options.secretStore = nil
        return KerberosExtension(options)
    }
}
