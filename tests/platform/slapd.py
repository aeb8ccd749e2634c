"""A real OpenLDAP server of the distribution, unpacked and not installed, in a folder of its own."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import ldap3
from ldap3.core.exceptions import LDAPException

from bench.control_plane import Authority, free_port
from tests.platform.packages import environment, unpacked

PACKAGES = ("slapd",)
BASE = "dc=example,dc=org"
WORD = "a good word"

_CONFIG = """
include {etc}/schema/core.schema
include {etc}/schema/cosine.schema
include {etc}/schema/inetorgperson.schema
modulepath {modules}
moduleload back_mdb
moduleload ppolicy
pidfile {folder}/pid
TLSCACertificateFile {folder}/ca.crt
TLSCertificateFile {folder}/{name}.crt
TLSCertificateKeyFile {folder}/{name}.key
security simple_bind=128
database mdb
suffix "{base}"
rootdn "cn=admin,{base}"
rootpw "{word}"
directory {folder}/data
overlay ppolicy
ppolicy_default "cn=rules,{base}"
"""
_PEOPLE = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: x
dc: example

dn: cn=rules,{BASE}
objectClass: device
objectClass: pwdPolicy
cn: rules
pwdAttribute: userPassword
pwdLockout: TRUE

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people
"""
_PERSON = """
dn: uid={name},ou=people,{base}
objectClass: inetOrgPerson
uid: {name}
cn: {name}
sn: {name}
userPassword: {word}
"""


def program() -> Path:
    """Return the folder with slapd and the libraries that it brings; CalledProcessError where they are not available."""
    return unpacked("slapd", PACKAGES, "usr/sbin/slapd")


class Slapd:
    """One server: ``ldaps`` and ``ldap`` on free ports; passwords are taken over TLS alone.

    Args:
        name: in its certificate.
        address: that it listens at; also in its certificate.
        people: who is in it, all by one password.

    Attributes:
        ca: certificate of its authority.
        others: certificate of an authority that it has nothing to do with.
    """

    def __init__(
        self,
        name: str = "localhost",
        address: str = "127.0.0.1",
        people: Sequence[str] = ("ann", "ben", "eve"),
    ) -> None:
        self.address = address
        self.folder = Path(tempfile.mkdtemp(prefix="ava-slapd-", dir="/dev/shm"))
        (self.folder / "data").mkdir()
        authority = Authority(self.folder)
        authority.issue("server", name, address=address)
        self.ca = self.folder / "ca.crt"
        (self.folder / "others").mkdir()
        Authority(self.folder / "others").issue("server", name, address=address)
        self.others = self.folder / "others/ca.crt"
        self.plain, self.tls = free_port(), free_port()
        root = program()
        known = {"etc": root / "etc/ldap", "modules": root / "usr/lib/ldap", "folder": self.folder}
        config = self.folder / "slapd.conf"
        config.write_text(_CONFIG.format(**known, name="server", base=BASE, word=WORD))
        config.chmod(0o600)
        entries = self.folder / "people.ldif"
        entries.write_text(_PEOPLE + "".join(_PERSON.format(name=n, base=BASE, word=WORD) for n in people))
        self._env = environment(root)
        self._slapd = str(root / "usr/sbin/slapd")
        add = ["-T", "add", "-f", str(config), "-l", str(entries)]
        done = subprocess.run([self._slapd, *add], check=False, env=self._env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Slapd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start it and wait until it answers."""
        urls = f"ldap://{self.address}:{self.plain}/ ldaps://{self.address}:{self.tls}/"
        argv = [self._slapd, "-f", str(self.folder / "slapd.conf"), "-h", urls, "-d", "0"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, env=self._env, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                return self.change("cn=rules", {"description": [(ldap3.MODIFY_REPLACE, ["seen"])]})
            except LDAPException:
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.1)

    def stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def strange(self) -> Iterator[None]:
        """Show a certificate of the other authority meanwhile, for the same address."""
        own = {end: (self.folder / f"server.{end}").read_bytes() for end in ("crt", "key")}
        self.stop()
        try:
            for end in own:
                shutil.copy(self.folder / f"others/server.{end}", self.folder / f"server.{end}")
            self.start()
            yield
        finally:
            self.stop()
            for end, content in own.items():
                (self.folder / f"server.{end}").write_bytes(content)
            self.start()

    def change(self, whose: str, changes: dict) -> None:
        """Change an entry as its administrator."""
        tls = ldap3.Tls(ca_certs_file=str(self.ca))
        server = ldap3.Server(self.address, self.tls, use_ssl=True, tls=tls, get_info=ldap3.NONE)
        with ldap3.Connection(
            server, f"cn=admin,{BASE}", WORD, auto_bind=True, raise_exceptions=True
        ) as connection:
            connection.modify(f"{whose},{BASE}", changes)
