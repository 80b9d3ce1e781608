"""Makes realms with k5test, each with a user, a host key in a keytab and a first ticket, and prints the seconds from the start to the ticket.

Arguments: how many realms, and whether one after the other or all at once. A realm's ports are the caller's to choose, so those that are
alive together get bases far apart.
"""

import multiprocessing
import sys
import tempfile
import time

import k5test


def make(base):
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        realm = k5test.K5Realm(realm="EXAMPLE.TEST", portbase=base, basedir=folder)
        seconds = time.monotonic() - start
        realm.stop()
    return seconds


if __name__ == "__main__":
    count, mode = int(sys.argv[1]), sys.argv[2]
    if mode == "at-once":
        with multiprocessing.Pool(count) as pool:
            pool.map(abs, range(count))  # the workers are up before the clock runs
            start = time.monotonic()
            pool.map(make, [47000 + 20 * number for number in range(count)], chunksize=1)
            print(time.monotonic() - start)
    else:
        for _ in range(count):
            print(make(47000))
