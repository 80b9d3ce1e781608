// Users only need `import HTTPNegotiate`: the origins, decisions and errors in its signatures are in this module.
@_exported public import SignOnPolicy
