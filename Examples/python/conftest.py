"""A real KDC and a protected web server for a pytest session, from `ksso realm run`."""

import json
import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def realm():
    """The realm's description. Its environment variables are set during the tests."""
    command = [os.environ.get("KSSO", "ksso"), "realm", "run", "--user", "alice:alice-secret", "--web"]
    # The pipe closes when this process exits for any reason, and then the realm stops.
    process = subprocess.Popen(
        command + ["--fault", "pass", "--json", "--until-input-ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    description = json.loads(process.stdout.readline())
    before = dict(os.environ)
    os.environ.update(description["environment"])
    yield description
    os.environ.clear()
    os.environ.update(before)
    process.stdin.close()
    assert process.wait(timeout=30) == 0


@pytest.fixture
def signed_in(realm):
    """Alice's ticket, in the realm's default cache."""
    subprocess.run(["kinit", "alice"], input="alice-secret\n", text=True, check=True, stdout=subprocess.DEVNULL)
    yield "alice@" + realm["realms"][0]["name"]
    subprocess.run(["kdestroy", "-q"], check=True)
