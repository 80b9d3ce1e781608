"""Sends requests with one session and prints the seconds that they took, without imports and the first response."""

import sys
import time

library, mode, url, greeting, count, certificate = sys.argv[1:]
preemptive = mode == "preemptive"

if library == "requests":
    import requests
    import requests_gssapi

    session = requests.Session()
    session.auth = requests_gssapi.HTTPSPNEGOAuth(opportunistic_auth=preemptive)
    session.verify = certificate or True
    session.trust_env = False
else:
    import ssl

    import httpx
    import httpx_gssapi

    trusted = ssl.create_default_context(cafile=certificate) if certificate else True
    session = httpx.Client(
        auth=httpx_gssapi.HTTPSPNEGOAuth(opportunistic_auth=preemptive),
        verify=trusted,
        trust_env=False,
    )


def fetch():
    answer = session.get(url)
    if answer.status_code != 200 or answer.text != greeting:
        sys.exit(f"the server answered {answer.status_code}: {answer.text[:80]}")


fetch()
start, processor = time.perf_counter(), time.process_time()
for _ in range(int(count)):
    fetch()
print(time.perf_counter() - start, time.process_time() - processor)
