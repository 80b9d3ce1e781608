"""The plugin, in pytest sessions of its own."""

import os
import pathlib
import re
import time

import pytest

README = pathlib.Path(__file__).parent.parent / "README.md"


@pytest.fixture(autouse=True)
def realms(monkeypatch, tmp_path):
    """The folder in which the inner sessions create their realms."""
    # The web server runs as another user, who must be able to read the realm's folder.
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    folder = tmp_path / "realms"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def run(pytester):
    def run(code, *arguments, ini=""):
        pytester.makeini(f"[pytest]\n{ini}\n")
        pytester.makepyfile(code)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)

    return run


def test_the_test_in_the_readme_passes(run):
    text = README.read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    ini = re.search(r"```ini\n\[pytest\]\n(.*?)```", text, re.DOTALL).group(1)
    assert len(code.splitlines()) <= 10
    run(code, ini=ini).assert_outcomes(passed=1)


USES_REALM = "def test_uses_the_realm(kerberos_realm):\n    assert kerberos_realm.name == 'EXAMPLE.TEST'\n"


def test_a_missing_ksso_fails_with_the_package(run):
    result = run(USES_REALM, "--ksso", "/nonexistent/ksso")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["/nonexistent/ksso cannot be run (No such file or directory): install the package ksso-realm, *"])
    # Only the sentence, and no traceback of the plugin.
    assert "realm.py" not in result.stdout.str() and "another exception" not in result.stdout.str()


def test_a_missing_ksso_realm_fails_with_its_own_message(run, pytester):
    program = pytester.path / "ksso"
    program.write_text("#!/bin/sh\necho 'ksso: ksso-realm is not installed: install the package ksso-realm.' >&2\nexit 127\n")
    program.chmod(0o755)
    result = run(USES_REALM, "--ksso", str(program))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["ksso: ksso-realm is not installed: install the package ksso-realm."])


def test_kerberos_missing_skip_skips_the_tests(run):
    result = run(USES_REALM + "def test_other():\n    pass\n", "--ksso", "/nonexistent/ksso", "-rs", ini="kerberos_missing = skip")
    result.assert_outcomes(skipped=1, passed=1)
    result.stdout.fnmatch_lines(["SKIPPED *install the package ksso-realm*"])


def test_each_test_has_its_own_cache_and_the_variables_are_restored(run):
    code = """
        import os

        BEFORE = dict(os.environ)

        def test_signed_in(kerberos_realm, kerberos_login):
            assert kerberos_login() == "alice@EXAMPLE.TEST"
            assert "alice@EXAMPLE.TEST" in kerberos_realm.run("klist", capture_output=True).stdout
            assert os.environ["KRB5_CONFIG"] == kerberos_realm.configuration

        def test_not_signed_in(kerberos_realm, kerberos_ccache):
            assert os.environ["KRB5CCNAME"] == kerberos_ccache
            assert kerberos_realm.run("klist", "-s", check=False).returncode == 1

        def test_variables():
            now = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
            assert now == {name: value for name, value in BEFORE.items() if name != "PYTEST_CURRENT_TEST"}
    """
    run(code, ini="kerberos_users = alice:alice-secret").assert_outcomes(passed=3)


def test_markers_add_users_services_and_faults(run):
    code = """
        import pytest

        @pytest.mark.kerberos_user("bob", "bob: secret")
        @pytest.mark.kerberos_service("HTTP/web.test")
        def test_bob(kerberos_realm, kerberos_login):
            assert kerberos_login("bob") == "bob@EXAMPLE.TEST"
            kerberos_realm.run("kvno", "-q", "HTTP/web.test")
            assert "HTTP/web.test" in kerberos_realm.run("klist", "-k", kerberos_realm.keytab, capture_output=True).stdout

        @pytest.mark.kerberos_fault("error=18", "--next", 1)
        def test_fault(kerberos_login):
            with pytest.raises(Exception, match="credentials have been revoked"):
                kerberos_login("bob")

        @pytest.mark.kerberos_fault("refuse")
        def test_that_fails_during_a_fault(kerberos_login):
            kerberos_login("bob")

        def test_after_the_fault(kerberos_login):
            kerberos_login("bob")
    """
    result = run(code)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*RealmError: kinit: Cannot contact any KDC*"])


@pytest.mark.parametrize(
    ("code", "ini", "message"),
    [
        ("@pytest.mark.kerberos_user('alice', 'other')", "kerberos_users = alice:x", "*the user alice has another password*"),
        ("", "kerberos_users = alice", "kerberos_users: 'alice' has no password; write NAME:PASSWORD."),
        ("", "kerberos_users = alice:x\nkerberos_plan = realm.yaml", "kerberos_plan has the users and services *"),
        ("", "kerberos_web = true\nkerberos_plan = realm.yaml", "kerberos_web has no effect beside kerberos_plan*"),
        ("", "kerberos_faults = true\nkerberos_plan = realm.yaml", "kerberos_faults has no effect beside kerberos_plan*"),
        ("", "kerberos_arguments = --clock later", "Error: The value 'later' is invalid for '--clock <offset>'"),
    ],
)
def test_invalid_options_are_reported(run, code, ini, message):
    result = run(f"import pytest\n{code}\n{USES_REALM}", ini=ini)
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines([".*" + re.escape(message).replace(r"\*", ".*")])


def test_a_plan_describes_several_realms(run, pytester):
    (pytester.path / "realm.yaml").write_text(
        "realms: [{name: A.TEST, users: {alice: secret}}, {name: B.TEST, services: [HTTP/web.b.test]}]\n"
        "trusts: [A.TEST -> B.TEST]\n"
        "web: [{name: front, server: acceptor}, {name: back, server: acceptor}]\n"
    )
    code = """
        def test_trust(kerberos_realm, kerberos_login):
            kerberos_login("alice", "secret")
            kerberos_realm.run("kvno", "-q", "HTTP/web.b.test@B.TEST")
            assert kerberos_realm.environment["KSSO_REALM_URL_FRONT"] == kerberos_realm.url
            assert kerberos_realm.environment["KSSO_REALM_URL_BACK"] != kerberos_realm.url
    """
    run(code, ini="kerberos_plan = realm.yaml").assert_outcomes(passed=1)


def test_the_realm_is_removed_at_the_end_of_the_session(run, realms):
    run(USES_REALM).assert_outcomes(passed=1)
    assert list(realms.glob("kerberos-testing-*")) == []


def test_the_realm_is_removed_if_pytest_is_killed(run, realms):
    run("import os\n\ndef test_kill(kerberos_realm):\n    os.kill(os.getpid(), 9)\n")
    deadline = time.monotonic() + 60
    while list(realms.glob("kerberos-testing-*")):
        assert time.monotonic() < deadline, "the realm still exists"
        os.sched_yield()
