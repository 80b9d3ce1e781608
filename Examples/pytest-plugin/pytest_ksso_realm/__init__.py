"""A private Kerberos KDC and protected web servers for pytest, from `ksso realm run`."""

from .realm import KerberosRealm, RealmError

__all__ = ["KerberosRealm", "RealmError"]
