// `import KerberosSSO` is all that a user writes: the types in its signatures live in these modules.
@_exported public import ExtensionProfile
@_exported public import HTTPNegotiate
@_exported public import Kerberos
@_exported public import KerberosEngine
