// Users only need `import Kerberos`: the type of the passwords in its signatures is in this module.
@_exported public import struct SystemSupport.Secret
