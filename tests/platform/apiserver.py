"""A real etcd and a real kube-apiserver 1.9.11 on this machine, without nodes."""

from __future__ import annotations

import datetime
import ipaddress
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ava.kube.access import Access

CACHE = Path.home() / ".cache/avadm"
HYPERKUBE = CACHE / "artifacts/kubernetes/1.9.11/hyperkube"
TOKEN = "platform-test"


def etcd_program() -> Path:
    """Return etcd: of this machine, or out of the distribution's package, which is not installed for it."""
    found = shutil.which("etcd")
    if found:
        return Path(found)
    program = CACHE / "platform/etcd/usr/bin/etcd"
    if not program.exists():
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run(
                ["apt-get", "download", "etcd-server"], cwd=folder, capture_output=True, check=False
            )
            if said.returncode:
                pytest.skip("there is no etcd: apt-get download etcd-server failed")
            package = next(Path(folder).glob("*.deb"))
            subprocess.run(["dpkg", "-x", package, Path(folder) / "out"], check=True)
            program.parents[2].parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(Path(folder) / "out", program.parents[2], dirs_exist_ok=True)
    return program


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A running API server."""

    access: Access
    folder: Path
    process: subprocess.Popen[bytes]
    argv: list[str]

    def restart(self) -> None:
        """End it and start it again on the same port and data."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End it by SIGKILL."""
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        """Start it again and wait until it answers."""
        self.process = _spawn(self.argv, self.folder / "apiserver.log")
        _wait(self.access, self.process, self.folder / "apiserver.log")


@contextmanager
def api_server() -> Iterator[Server]:
    """Run etcd and kube-apiserver while the context lasts."""
    if not HYPERKUBE.exists():
        pytest.skip(f"{HYPERKUBE} is not built (avadm artifacts build kubernetes)")
    # In memory: how fast this machine's disk is must not decide over tests of other things.
    folder = Path(tempfile.mkdtemp(prefix="ava-api-", dir="/dev/shm"))
    client, peer, port = free_port(), free_port(), free_port()
    started: list[subprocess.Popen[bytes]] = []
    try:
        etcd = [
            str(etcd_program()),
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{client}",
            f"--advertise-client-urls=http://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
        ]
        started.append(_spawn(etcd, folder / "etcd.log"))
        ca = _certificate(folder)
        (folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        argv = [
            str(HYPERKUBE),
            "apiserver",
            f"--etcd-servers=http://127.0.0.1:{client}",
            "--storage-backend=etcd3",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            "--insecure-port=0",
            f"--tls-cert-file={folder / 'server.crt'}",
            f"--tls-private-key-file={folder / 'server.key'}",
            f"--cert-dir={folder}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            "--admission-control=NamespaceLifecycle,LimitRanger,DefaultTolerationSeconds,ResourceQuota",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--max-requests-inflight=800",
        ]
        access = Access(server=f"https://127.0.0.1:{port}", ca=ca, token=TOKEN)
        server = Server(access, folder, _spawn(argv, folder / "apiserver.log"), argv)
        try:
            _wait(access, server.process, folder / "apiserver.log")
            yield server
        finally:
            server.stop()
    finally:
        for process in started:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _spawn(argv: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(argv, stdout=file, stderr=file, env=os.environ | {"DISABLE_HTTP2": "1"})


def _wait(access: Access, process: subprocess.Popen[bytes], log: Path) -> None:
    context = ssl.create_default_context(cadata=access.ca.decode())
    request = urllib.request.Request(f"{access.server}/healthz", headers=access.headers())  # noqa: S310
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(request, timeout=2, context=context) as reply:  # noqa: S310
                if reply.read() == b"ok":
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"kube-apiserver does not answer: {log.read_text()[-2000:]}")


def _certificate(folder: Path) -> bytes:
    """Write a server certificate for 127.0.0.1; return the authority's certificate, PEM."""
    now = datetime.datetime.now(datetime.UTC)

    def build(
        name: str, issuer: x509.Name | None, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer or subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=2))
        )

    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = (
        build("ava-test", None, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    server = (
        build("server", ca.subject, key).add_extension(names, critical=False).sign(ca_key, hashes.SHA256())
    )
    (folder / "server.crt").write_bytes(server.public_bytes(Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    return ca.public_bytes(Encoding.PEM)
