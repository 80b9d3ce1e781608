"""The fixtures, options and markers."""

import os
import shlex

import pytest

from .realm import KerberosRealm, RealmError, RealmMissing

MARKERS = (
    "kerberos_user(name, password): create this user in the realm of the session.",
    "kerberos_service(principal): create this service, with a key in the realm's keytab.",
    "kerberos_fault(fault, *options): a fault between clients and KDC during the test, such as drop, or error=29 with --next 1.",
)


def pytest_addoption(parser):
    group = parser.getgroup("ksso", "Kerberos realm")
    group.addoption("--ksso", metavar="PATH", help="the program ksso; by default $KSSO, otherwise the one in PATH")
    parser.addini("kerberos_users", "users of the realm, one NAME:PASSWORD a line", type="linelist")
    parser.addini("kerberos_services", "services with a key in the realm's keytab, one a line", type="linelist")
    parser.addini("kerberos_web", "start a web server whose page /hello requires a ticket", type="bool", default=False)
    parser.addini("kerberos_faults", "let tests start faults with kerberos_realm.fault", type="bool", default=False)
    parser.addini("kerberos_plan", "a plan with the realms and servers, relative to the ini file; replaces the options above")
    parser.addini("kerberos_arguments", "further arguments of ksso realm run", default="")
    parser.addini("kerberos_missing", "fail (default) or skip the tests that need a realm if ksso-realm is not installed", default="fail")


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    missing = config.getini("kerberos_missing")
    if missing not in ("fail", "skip"):
        raise pytest.UsageError(f"kerberos_missing is {missing!r}; write fail or skip.")


def pytest_collection_modifyitems(items):
    """A test with the marker for a fault needs no fixture in its arguments."""
    for item in items:
        if item.get_closest_marker("kerberos_fault") and hasattr(item, "fixturenames") and "_kerberos_fault" not in item.fixturenames:
            item.fixturenames.append("_kerberos_fault")


@pytest.fixture(scope="session")
def kerberos_realm(request):
    """The realm of the session: a KerberosRealm. Its users are those of the ini file and of the markers of all selected tests."""
    program = request.config.getoption("--ksso") or os.environ.get("KSSO") or "ksso"
    failure = None
    try:
        arguments, users = _arguments(request.config, request.session.items)
        realm = KerberosRealm(program, arguments, users)
    except (RealmError, pytest.UsageError) as error:
        failure = error
    # Outside of the handler, so that pytest prints only the message.
    if isinstance(failure, RealmMissing) and request.config.getini("kerberos_missing") == "skip":
        pytest.skip(str(failure))
    if failure:
        pytest.fail(str(failure), pytrace=False)
    yield realm
    realm.stop()


@pytest.fixture
def kerberos_ccache(kerberos_realm, monkeypatch, tmp_path):
    """An empty credential cache for this test. During the test, the variables of this process are those of the realm."""
    for name, value in kerberos_realm.environment.items():
        monkeypatch.setenv(name, value)
    cache = tmp_path / "krb5cc"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    yield f"FILE:{cache}"
    # pytest keeps tmp_path for a while; nothing needs the tickets.
    cache.unlink(missing_ok=True)


@pytest.fixture
def kerberos_login(kerberos_realm, kerberos_ccache):
    """A function that signs in a user to the cache of this test and returns the principal; without a name, the first user."""

    def login(user=None, password=None):
        if user is None:
            if not kerberos_realm.users:
                raise RealmError("there is no user. Add one to kerberos_users, or name one: kerberos_login(user, password)")
            user = next(iter(kerberos_realm.users))
        if password is None:
            if user not in kerberos_realm.users:
                raise RealmError(f"the password of {user} is not known: kerberos_login({user!r}, password)")
            password = kerberos_realm.users[user]
        principal = kerberos_realm.principal(user)
        result = kerberos_realm.run("kinit", principal, check=False, input=f"{password}\n", capture_output=True)
        if result.returncode != 0:
            raise RealmError(result.stderr.strip())
        return principal

    return login


@pytest.fixture
def _kerberos_fault(request, kerberos_realm):
    # Those of the class or the module first, so that the test's own ones replace them.
    for marker in reversed(list(request.node.iter_markers("kerberos_fault"))):
        kerberos_realm.fault(*map(str, marker.args))
    yield
    kerberos_realm.fault("pass")


def _arguments(config, items):
    """The arguments of ksso realm run, and the passwords of the users."""
    users = {}
    for line in config.getini("kerberos_users"):
        name, colon, password = line.partition(":")
        if not colon:
            raise pytest.UsageError(f"kerberos_users: {line!r} has no password; write NAME:PASSWORD.")
        users[name] = password
    services = list(config.getini("kerberos_services"))
    for item in items:
        for marker in item.iter_markers("kerberos_user"):
            name, password = marker.args
            if users.setdefault(name, password) != password:
                raise pytest.UsageError(f"{item.nodeid}: the user {name} has another password in another place. Use one password.")
        services += [marker.args[0] for marker in item.iter_markers("kerberos_service")]

    arguments = shlex.split(config.getini("kerberos_arguments"))
    if "--" in arguments:
        raise pytest.UsageError("kerberos_arguments names a command after --; the plugin needs the realm without one.")
    plan = config.getini("kerberos_plan")
    if plan:
        if users or services:
            raise pytest.UsageError("kerberos_plan has the users and services of the realm. Add them there, not in markers or other options.")
        for option, key in ("kerberos_web", "web"), ("kerberos_faults", "faults"):
            if config.getini(option):
                raise pytest.UsageError(f"{option} has no effect beside kerberos_plan. Add {key!r} to the plan instead.")
        folder = config.inipath.parent if config.inipath else config.rootpath
        return arguments + ["--file", str(folder / plan)], {}
    for name, password in users.items():
        arguments += ["--user", f"{name}:{password}"]
    for service in dict.fromkeys(services):
        arguments += ["--service", service]
    if config.getini("kerberos_web"):
        arguments.append("--web")
    # Faults need a proxy in front of the KDC.
    if config.getini("kerberos_faults") or any(item.get_closest_marker("kerberos_fault") for item in items):
        arguments += ["--fault", "pass"]
    return arguments, users
