"""Measures a sign-in on a member of an Active Directory domain that runs Debian's sssd, which is unpacked and not installed.

Benchmarks/controllers imports this module. It also runs it as a program, sssd_member.py FOLDER RESOLVER KEYTAB REALM HOST USER with the password
on the standard input, in namespaces in which that may cover directories of the system; they and its processes vanish with it. The program
prints the seconds of each row.
"""

import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import time

NAME = "sssd 2.8's AD provider"
ROWS = [f"{NAME}, from its start", f"{NAME}, online"]
# What sssd needs beyond the packages of samba, and a client of PAM.
PACKAGES = """
    sssd-common sssd-ad sssd-ad-common sssd-krb5-common libpam-sss libc-ares2 libdhash1 libini-config5 libcollection4 libref-array1
    libbasicobjects0 libpath-utils1 libnl-3-200 libnl-route-3-200 libsss-certmap0 libsss-idmap0 libsasl2-modules-gssapi-mit pamtester
""".split()
# Longer than any sign-in takes: half a minute, if sssd waits for two controllers twice.
LIMIT = 120
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
# The configuration that sssd's manual gives for a member. It finds the controllers and the site by DNS and CLDAP, as by default; its first
# dynamic update of DNS comes later than the end of the measurement. Groups do not restrict who may sign in, as for the other programs.
CONFIGURATION = """\
[sssd]
config_file_version = 2
services = nss, pam
domains = {domain}

[domain/{domain}]
id_provider = ad
access_provider = permit
ad_domain = {domain}
krb5_realm = {realm}
krb5_ccname_template = FILE:/run/tickets/cache
"""


def unpack(folder):
    """Unpacks the packages; raises an OSError or a subprocess.SubprocessError if they cannot be fetched."""
    complete = folder + "/complete"
    if os.path.exists(complete) and open(complete).read().split() == PACKAGES:
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder + "/packages")
    subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=folder + "/packages", capture_output=True, text=True, check=True, timeout=300)
    for package in glob.glob(folder + "/packages/*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    # These packages still have /lib, which the system has merged with /usr/lib.
    if os.path.isdir(folder + "/lib"):
        shutil.copytree(folder + "/lib", folder + "/usr/lib", symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(folder + "/packages")
    with open(complete, "w") as file:
        file.write(" ".join(PACKAGES))


def sign_in(folder, resolver, keytab, realm, host, user, password):
    """Starts sssd without a cache, signs in twice, and returns the seconds of each row."""
    # The kernel kills everything in the namespace of processes together with unshare.
    namespaces = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = [sys.executable, os.path.abspath(__file__), folder, resolver, keytab, realm, host, user]
    result = subprocess.run(namespaces + command, env=ENVIRONMENT, input=password + "\n", text=True, capture_output=True, timeout=3 * LIMIT)
    if result.returncode != 0:
        raise RuntimeError(result.stdout + result.stderr)
    return json.loads(result.stdout)


def mount(kind, place, options="mode=0755"):
    subprocess.run(["mount", "-t", kind, "-o", options, kind, place], check=True)


def write(path, text, mode=0o644):
    # It may be a link to a file that another service owns.
    if os.path.lexists(path):
        os.remove(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(text)


def become_member(folder, resolver, keytab, realm, host):
    """Makes the namespace a machine that has joined the domain, and on which sssd is installed, because its paths are compiled in."""
    # Its database is in memory: it need not wait for the disk.
    for place in ("/run", "/var/log", "/var/lib"):
        mount("tmpfs", place)
    os.makedirs("/run/changes")
    os.makedirs("/run/work")
    mount("overlay", "/usr", f"lowerdir={folder}/usr:/usr")
    mount("overlay", "/etc", "lowerdir=/etc,upperdir=/run/changes,workdir=/run/work")
    shutil.copytree(folder + "/var/lib/sss", "/var/lib/sss")
    os.makedirs("/var/log/sssd")
    # sssd writes the tickets as their user.
    os.makedirs("/run/tickets")
    os.chmod("/run/tickets", 0o1777)
    domain = realm.lower()
    socket.sethostname(f"{host}.{domain}")
    write("/etc/resolv.conf", f"nameserver {resolver}\n")
    write("/etc/krb5.conf", f"[libdefaults]\n default_realm = {realm}\n dns_lookup_kdc = true\n rdns = false\n")
    write("/etc/sssd/sssd.conf", CONFIGURATION.format(domain=domain, realm=realm), mode=0o600)
    shutil.copyfile(keytab, "/etc/krb5.keytab")
    os.chmod("/etc/krb5.keytab", 0o600)
    write("/etc/pam.d/measured", "auth required pam_sss.so\n")


def wait_for_socket(process):
    """Waits until sssd's responder to PAM accepts connections, which a login does not do."""
    end = time.monotonic() + LIMIT
    while True:
        with socket.socket(socket.AF_UNIX) as one:
            if one.connect_ex("/var/lib/sss/pipes/private/pam") == 0:
                return
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("sssd does not start")
        time.sleep(0.002)


def authenticate(name, password):
    result = subprocess.run(["pamtester", "measured", name, "authenticate"], input=password, text=True, capture_output=True, timeout=LIMIT)
    if result.returncode != 0:
        logs = "".join(open(path).read()[-2000:] for path in glob.glob("/var/log/sssd/*"))
        sys.exit(f"{result.stdout}{result.stderr}{logs}")


def main():
    *machine, user = sys.argv[1:]
    realm = machine[3]
    password = sys.stdin.read()
    become_member(*machine)
    start = time.monotonic()
    process = subprocess.Popen(["sssd", "--interactive", "--logger=files"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_for_socket(process)
    authenticate(f"{user}@{realm.lower()}", password)
    first = time.monotonic()
    subprocess.run(["klist", "-s", "-c", "FILE:/run/tickets/cache"], check=True)
    # The second time, sssd is connected to a controller and knows the user.
    again = time.monotonic()
    authenticate(f"{user}@{realm.lower()}", password)
    print(json.dumps(dict(zip(ROWS, [first - start, time.monotonic() - again]))))


if __name__ == "__main__":
    main()
