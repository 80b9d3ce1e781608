"""A running `ksso realm run`."""

import json
import os
import subprocess
import tempfile

INSTALL = "install the package ksso-realm, or name the program in the variable KSSO or with pytest --ksso PATH."


class RealmError(Exception):
    """The realm could not be started or changed."""


class RealmMissing(RealmError):
    """A program of the realm is not installed."""


class KerberosRealm:
    """A private KDC, and the web servers that use its keys."""

    def __init__(self, program, arguments, users):
        """Starts the realm, and returns once its servers answer.

        users: the passwords of the users that the arguments create.
        """
        self.program = program
        self.users = dict(users)
        self._errors = tempfile.TemporaryFile(mode="w+")
        try:
            # The pipe closes when this process exits, even if it is killed, and then the realm stops.
            self._process = subprocess.Popen(
                [program, "realm", "run", *arguments, "--json", "--until-input-ends"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
        except OSError as error:
            raise RealmMissing(f"{program} cannot be run ({error.strerror}): {INSTALL}") from None
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            message = self._error_text() or f"{program} realm run exited with status {status}"
            # The status of a shell for a missing program: ksso is there, but ksso-realm, a KDC or a web server is not.
            raise (RealmMissing if status == 127 else RealmError)(message)
        self.description = json.loads(line)

    def _error_text(self):
        self._errors.seek(0)
        return self._errors.read().strip()

    def stop(self):
        """Stops the realm and removes its files."""
        self._process.stdin.close()
        status = self._process.wait(timeout=60)
        if status != 0:
            raise RealmError(f"{self.program} realm run exited with status {status}: {self._error_text()}")

    @property
    def name(self):
        """The name of the first realm, such as EXAMPLE.TEST."""
        return self.description["realms"][0]["name"]

    @property
    def environment(self):
        """The variables with which programs use the realm."""
        return dict(self.description["environment"])

    @property
    def configuration(self):
        """The path of the realm's krb5.conf."""
        return self.description["realms"][0]["configuration"]

    @property
    def keytab(self):
        """The path of the keytab with the keys of the services of the first realm."""
        return self.description["realms"][0]["keytab"]

    @property
    def url(self):
        """The URL of the first web server, whose page /hello requires a ticket; None if there is no web server."""
        return self.environment.get("KSSO_REALM_URL")

    @property
    def certificate(self):
        """The path of the certificate of the first web server; None without TLS."""
        return self.environment.get("KSSO_REALM_CERTIFICATE")

    @property
    def identities(self):
        """The certificates of the users of the first realm, as for kinit -X X509_user_identity, by user; empty without certificates."""
        return {entry["user"]: entry["identity"] for entry in self.description["realms"][0].get("certificates", [])}

    def principal(self, user):
        """The full name of a user or service: alice@EXAMPLE.TEST."""
        return user if "@" in user else f"{user}@{self.name}"

    def run(self, *command, check=True, **options):
        """Runs a program in the realm, with the variables of the current test if there are any. The options are those of subprocess.run."""
        variables = {**os.environ, **self.environment}
        if "KRB5CCNAME" in os.environ and os.environ.get("KRB5_CONFIG") == self.configuration:
            variables["KRB5CCNAME"] = os.environ["KRB5CCNAME"]
        variables.update(options.pop("env", {}))
        return subprocess.run(command, check=check, env=variables, text=True, **options)

    def fault(self, fault, *options):
        """Starts a fault between clients and KDC, such as drop or delay=200ms; pass ends it."""
        self._change("fault", fault, *options)

    def kdc(self, action, *options):
        """Stops, starts, pauses or resumes a KDC."""
        self._change("kdc", action, *options)

    def clock(self, offset, *options):
        """Sets the clock of the KDCs, such as +10m."""
        self._change("clock", offset, *options)

    def _change(self, *arguments):
        result = self.run(self.program, "realm", *arguments, check=False, capture_output=True)
        if result.returncode != 0:
            raise RealmError(result.stderr.strip())
