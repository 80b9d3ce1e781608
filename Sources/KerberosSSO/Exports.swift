// Users only need `import KerberosSSO`: the types in its signatures are in these modules.
@_exported public import ActiveDirectory
@_exported public import ExtensionProfile
@_exported public import HTTPNegotiate
@_exported public import Kerberos
@_exported public import KerberosEngine
