"""etcd and Kubernetes 1.9.11's API server on this machine, for measurements and tests: TLS, RBAC, nothing anonymous.

etcd is the distribution's (unpacked, not installed); ``hyperkube`` is what avadm built (``avadm artifacts build``).
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CACHE = Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "avadm"
HYPERKUBE = CACHE / "artifacts/kubernetes/1.9.11/hyperkube"
ETCD = CACHE / "platform/etcd/usr/bin/etcd"
ADMISSION = "NamespaceLifecycle,LimitRanger,ExtendedResourceToleration,DefaultTolerationSeconds,Priority"
START = 60.0
"""Seconds for each program to answer; both cores may be busy."""
LISTENERS = range(20000, 32768)
"""Ports below those of connections, of which one could be in use again before a program listens."""


def ready() -> str:
    """Return why the programs cannot be started, empty where they can; unpacks etcd where it is missing."""
    if not HYPERKUBE.is_file():
        return f"{HYPERKUBE} is missing: build it with 'avadm artifacts build'"
    if not ETCD.is_file():
        ETCD.parents[2].mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ETCD.parents[2]) as folder:
            try:
                subprocess.run(
                    ["apt-get", "-q", "download", "etcd-server"], cwd=folder, check=True, capture_output=True
                )
                (package,) = Path(folder).glob("etcd-server_*.deb")
                subprocess.run(
                    ["dpkg", "-x", package.name, "whole"], cwd=folder, check=True, capture_output=True
                )
            except (subprocess.CalledProcessError, ValueError, OSError) as error:
                return f"the distribution's etcd-server is not available: {error}"
            shutil.copytree(Path(folder) / "whole", ETCD.parents[2], dirs_exist_ok=True)
    return ""


def free_port() -> int:
    """Return a port of the loopback address on which nothing listens, and which Linux gives to no connection meanwhile."""
    while True:
        port = random.SystemRandom().choice(LISTENERS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Authority:
    """A certificate authority of its own, in a folder that only its owner may read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bench")])
        self.certificate = self._sign(self._name, self._key.public_key(), authority=True)
        (folder / "ca.crt").write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, file: str, name: str, organisation: str | None = None, *, address: str = "127.0.0.1"
    ) -> tuple[Path, Path]:
        """Write a certificate for localhost and an address, and its key; return their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if organisation:
            parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
        certificate = self._sign(x509.Name(parts), key.public_key(), address=address)
        paths = self.folder / f"{file}.crt", self.folder / f"{file}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].touch(mode=0o600)
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        return paths

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        authority: bool = False,
        address: str = "127.0.0.1",
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            names = [x509.DNSName("localhost"), x509.IPAddress(ip_address(address))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return builder.sign(self._key, hashes.SHA256())


class ControlPlane:
    """etcd and an API server; use as a context manager. Everything is in one folder, removed at the end.

    Args:
        parent: where the folder is made.
        admission: the API server's plug-ins.
        gates: the API server's feature gates.

    Attributes:
        kubeconfig: of an administrator.
        folder: has the programs' logs.
    """

    def __init__(self, parent: Path | None = None, *, admission: str = ADMISSION, gates: str = "") -> None:
        self._admission, self._gates = admission, gates
        self.folder = Path(tempfile.mkdtemp(prefix="ava-kube-", dir=parent))
        self.folder.chmod(0o700)
        self.authority = Authority(self.folder)
        self.port, self._etcd_port = free_port(), free_port()
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self.authority.issue("server", "localhost")
        self.kubeconfig = self.account("admin", "system:masters")

    def __enter__(self) -> ControlPlane:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def server(self) -> str:
        """Return the API server's address."""
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start both and wait until they answer."""
        peer = free_port()
        client = f"http://127.0.0.1:{self._etcd_port}"
        # fmt: off
        self.spawn("etcd", [
            str(ETCD), "--name", "m", "--data-dir", str(self.folder / "etcd"),
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-cluster", f"m=http://127.0.0.1:{peer}", "--log-level", "warn", "--logger", "zap",
        ])
        self._until(lambda: self._ask(f"{client}/health"), "etcd")
        self.start_api()
        # fmt: on

    def start_api(self) -> None:
        """Start the API server and wait until it answers."""
        f = self.folder
        # fmt: off
        self.spawn("apiserver", [
            str(HYPERKUBE), "apiserver", f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self.port}",
            "--insecure-port=0", f"--tls-cert-file={f / 'server.crt'}", f"--tls-private-key-file={f / 'server.key'}",
            f"--client-ca-file={f / 'ca.crt'}", "--anonymous-auth=false", "--authorization-mode=Node,RBAC",
            f"--admission-control={self._admission}", f"--feature-gates={self._gates}",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true", "--profiling=false",
            "--max-requests-inflight=800", f"--cert-dir={f}",
        ])
        # fmt: on
        context = ssl.create_default_context(cafile=str(f / "ca.crt"))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.load_cert_chain(f / "admin.crt", f / "admin.key")
        self._until(lambda: self._ask(f"{self.server}/healthz", context), "apiserver")

    def account(self, name: str, organisation: str | None = None) -> Path:
        """Write a kubeconfig of an account that its certificate names; return its path."""
        certificate, key = self.authority.issue(name, name, organisation)
        path = self.folder / f"{name}.kubeconfig"
        cluster = {"server": self.server, "certificate-authority": str(self.folder / "ca.crt")}
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document))
        return path

    def spawn(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a program with its output in ``NAME.log``; it ends with the control plane, or with this process."""
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            self._programs[name] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env=environment, start_new_session=True
            )
        return self._programs[name]

    def stop(self, name: str, *, kill: bool = False) -> None:
        """End a program that was started here."""
        program = self._programs.pop(name, None)
        if program is None:
            return
        program.kill() if kill else program.terminate()
        try:
            program.wait(20)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def cpu(self) -> dict[str, float]:
        """Return the CPU seconds that each running program has used."""
        tick = os.sysconf("SC_CLK_TCK")
        used = {"self": sum(resource.getrusage(resource.RUSAGE_SELF)[:2])}
        for name, program in self._programs.items():
            fields = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
            used[name] = (int(fields[11]) + int(fields[12])) / tick
        return used

    def close(self) -> None:
        """End everything and remove the folder."""
        for name in reversed(list(self._programs)):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _until(self, works: object, name: str) -> None:
        end = time.monotonic() + START
        while time.monotonic() < end:
            if self._programs[name].poll() is not None:
                break
            if works():  # type: ignore[operator]
                return
            time.sleep(0.1)
        log = (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{name} did not answer within {START:.0f} s:\n{log}")

    @staticmethod
    def _ask(url: str, context: ssl.SSLContext | None = None) -> bool:
        try:
            with urllib.request.urlopen(url, timeout=5, context=context) as reply:  # noqa: S310 - own loopback
                return bool(reply.status == 200)
        except OSError:
            return False
