internal import ActiveDirectory
internal import Kerberos
internal import TLSChannelBinding

extension DomainDirectory.Options {
    /// The options of this program: with TLS, the sign-in is bound to the connection.
    static var boundToTLS: DomainDirectory.Options {
        var options = DomainDirectory.Options()
        options.channelBindings = { certificate in
            (try? TLSServerEndPoint(certificate: certificate)).map { ChannelBindings(applicationData: $0.applicationData) }
        }
        return options
    }
}
