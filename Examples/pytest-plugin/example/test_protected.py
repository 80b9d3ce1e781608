"""An example of a service's tests."""

import pytest
import requests
from requests_gssapi import HTTPSPNEGOAuth


def fetch(realm):
    return requests.get(realm.url + "/hello", auth=HTTPSPNEGOAuth())


def test_a_signed_in_user_gets_the_page(kerberos_realm, kerberos_login):
    principal = kerberos_login("alice")
    answer = fetch(kerberos_realm)
    assert answer.status_code == 200
    assert answer.text.strip() == f"Hello {principal}"


@pytest.mark.kerberos_user("bob", "bob-secret")
def test_each_user_is_signed_in_as_such(kerberos_realm, kerberos_login):
    assert kerberos_login("bob") == "bob@EXAMPLE.TEST"
    assert fetch(kerberos_realm).text.strip() == "Hello bob@EXAMPLE.TEST"


def test_a_request_without_a_ticket_gets_401(kerberos_realm, kerberos_ccache):
    # The ticket of the test before is not in this test's cache.
    assert kerberos_realm.run("klist", "-s", check=False).returncode == 1
    assert requests.get(kerberos_realm.url + "/hello").status_code == 401


@pytest.mark.kerberos_fault("refuse")
def test_without_a_kdc_no_one_can_sign_in(kerberos_login):
    with pytest.raises(Exception, match="Cannot contact any KDC"):
        kerberos_login("alice")


def test_after_the_fault_alice_signs_in_again(kerberos_login):
    assert kerberos_login() == "alice@EXAMPLE.TEST"
