"""An example of a service's tests."""

import os
import subprocess

import pytest
import requests
from requests_gssapi import HTTPSPNEGOAuth


def test_a_signed_in_user_gets_the_page(realm, signed_in):
    answer = requests.get(realm["web"][0]["url"] + "/hello", auth=HTTPSPNEGOAuth())
    assert answer.status_code == 200
    assert answer.text.strip() == f"Hello {signed_in}"


def test_a_request_without_a_ticket_gets_401(realm):
    assert requests.get(realm["web"][0]["url"] + "/hello").status_code == 401


@pytest.fixture
def no_kdc():
    ksso = os.environ.get("KSSO", "ksso")
    subprocess.run([ksso, "realm", "fault", "refuse"], check=True)
    yield
    subprocess.run([ksso, "realm", "fault", "pass"], check=True)


def test_without_a_kdc_kinit_fails(realm, no_kdc):
    result = subprocess.run(["kinit", "alice"], input="alice-secret\n", text=True, capture_output=True)
    assert result.returncode == 1
    assert "Cannot contact any KDC" in result.stderr
