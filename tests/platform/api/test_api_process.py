"""The API as a process on a real PostgreSQL: bodies without end, a database that dies, two replicas, an end in order."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ava.api.admin import sealing_key
from ava.client import ApiError, Client, Unreachable
from ava.db.database import migrate
from bench.control_plane import free_port
from tests.platform.postgres import PASSWORD, Server

WORD = "correct horse battery"
SPEC = {"image": "registry.local/torch:2", "command": ["python", "train.py"]}


def _certificate(folder: Path) -> None:
    """Write a certificate for localhost that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = (
        builder.not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


class Replica:
    """One process of the API, over TLS."""

    def __init__(self, folder: Path, config: dict[str, object], number: int) -> None:
        self.port, self.inner, self.folder = free_port(), free_port(), folder
        whole = config | {"listen": f"127.0.0.1:{self.port}", "internal": f"127.0.0.1:{self.inner}"}
        self.file = folder / f"api{number}.yml"
        self.file.write_text(json.dumps(whole))
        self.log = folder / f"log{number}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ava.api", "--config", str(self.file)], stdout=log, stderr=log
            )
        self.url = f"https://localhost:{self.port}"

    def health(self) -> int:
        try:
            return httpx.get(f"http://127.0.0.1:{self.inner}/healthz", timeout=20).status_code
        except httpx.TransportError:
            return 0

    def until(self, status: int, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while self.health() != status:
            assert time.monotonic() < end, self.log.read_text()
            assert self.process.poll() is None or status == 0, self.log.read_text()
            time.sleep(0.1)

    def client(self, token: str | None = None) -> Client:
        return Client(self.url, token=token, ca=self.folder / "tls.crt")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    server = Server(durable=True)  # what was answered must be there after a crash
    yield server
    server.remove()


@pytest.fixture(scope="module")
def replicas(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Replica]]:
    folder = tmp_path_factory.mktemp("api")
    name = postgres.create()
    migrate(postgres.url(name))
    _certificate(folder)
    sealing_key(folder / "key")
    passfile = folder / "pgpass"
    passfile.write_text(f"*:*:*:*:{PASSWORD}\n")
    passfile.chmod(0o600)
    config: dict[str, object] = {
        "database": {
            "host": "127.0.0.1",
            "port": postgres.port,
            "name": name,
            "user": "postgres",
            "passfile": str(passfile),
        },
        "sealing_key": str(folder / "key"),
        "tls": {"certificate": str(folder / "tls.crt"), "key": str(folder / "tls.key")},
    }
    made = [Replica(folder, config, n) for n in range(2)]
    for replica in made:
        replica.until(200)
    done = subprocess.run(
        [sys.executable, "-m", "ava.api.admin", "create-admin", "--config", str(made[0].file), "--name", "boss"],
        input=f"{WORD}\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "made"
    with made[0].client() as ava:
        ava.login("boss", WORD)
        ava.make_group("vision", {"gpu": 8, "cpu": None, "memory": None, "storage": None})
        ava.add_member("vision", "boss")
    yield made
    for replica in made:
        if replica.process.poll() is None:
            replica.stop()


def test_what_one_replica_gave_is_good_at_the_other(replicas: list[Replica]) -> None:
    with replicas[0].client() as first:
        token = first.login("boss", WORD)
        run = first.start("mnist", SPEC, key="both")
        for n in range(3):
            first.start(f"more{n}", SPEC)
        with replicas[1].client(token) as second:
            assert second.start("mnist", SPEC, key="both").id == run.id
            page = first._send.send("GET", "/runs", params={"limit": 2}).json()
            rest = second._send.send("GET", "/runs", params={"limit": 2, "after": page["next"]}).json()
            assert len({r["id"] for r in page["items"] + rest["items"]}) == 4
            second.logout()
        with pytest.raises(ApiError) as caught:
            first.me()
        assert caught.value.status == 401


def test_only_who_trusts_the_authority_gets_in(replicas: list[Replica]) -> None:
    with Client(replicas[0].url) as stranger, pytest.raises(Unreachable) as caught:
        stranger.login("boss", WORD)
    assert "certificate" in caught.value.problems[0].found.lower()


def _connect(replica: Replica) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(replica.folder / "tls.crt"))
    raw = socket.create_connection(("127.0.0.1", replica.port), timeout=30)
    return context.wrap_socket(raw, server_hostname="localhost")


def test_a_body_of_100_mb_is_refused_before_it_is_sent(replicas: list[Replica]) -> None:
    with _connect(replicas[0]) as line:
        line.sendall(
            b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n"
        )
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"too-large" in answer


def test_a_body_without_a_length_is_cut_at_its_limit(replicas: list[Replica]) -> None:
    sent = 0
    before = _memory(replicas[0])
    with replicas[0].client() as ava, _connect(replicas[0]) as line:
        token = ava.login("boss", WORD)
        line.sendall(
            b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n"
        )
        try:
            for _ in range(100):
                line.sendall(b"100000\r\n" + b" " * 2**20 + b"\r\n")
                sent += 1
        except OSError:
            pass
    assert _memory(replicas[0]) - before < 30 * 2**20, "it is not gathered"


def _memory(replica: Replica) -> int:
    lines = Path(f"/proc/{replica.process.pid}/status").read_text().splitlines()
    return int(next(x for x in lines if x.startswith("VmRSS")).split()[1]) * 1024


def test_many_slow_readers_leave_room_for_others(replicas: list[Replica]) -> None:
    lines = [_connect(replicas[0]) for _ in range(50)]
    try:
        for line in lines:
            line.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nX: ")
        with replicas[0].client() as ava:
            ava.login("boss", WORD)
            assert ava.me().name == "boss"
    finally:
        for line in lines:
            line.close()


def test_the_figures_name_routes_and_no_objects(replicas: list[Replica]) -> None:
    with replicas[0].client() as ava:
        ava.login("boss", WORD)
        run = ava.start("figures", SPEC)
        ava.run(run.id)
    report = httpx.get(f"http://127.0.0.1:{replicas[0].inner}/metrics", timeout=20).text
    assert 'ava_api_requests_total{method="GET",route="/runs/{id}",status="200"}' in report
    assert run.id not in report
    outside = httpx.get(
        f"{replicas[0].url}/metrics",
        verify=ssl.create_default_context(cafile=str(replicas[0].folder / "tls.crt")),
        timeout=20,
    )
    assert outside.status_code == 404


def test_a_data_base_that_dies_is_503_and_comes_back_by_itself(
    replicas: list[Replica], postgres: Server
) -> None:
    with replicas[0].client() as ava:
        token = ava.login("boss", WORD)
    postgres.stop()
    try:
        replicas[0].until(503)
        answer = httpx.get(
            f"{replicas[0].url}/api/v1/runs",
            headers={"authorization": f"Bearer {token}"},
            verify=ssl.create_default_context(cafile=str(replicas[0].folder / "tls.crt")),
            timeout=60,
        )
        assert (answer.status_code, answer.json()["problems"][0]["code"]) == (503, "database-unavailable")
        assert str(postgres.port) not in answer.text
    finally:
        postgres.start()
    replicas[0].until(200)
    with replicas[0].client(token) as ava:
        assert ava.me().name == "boss"


def test_an_end_in_order_finishes_what_was_begun(replicas: list[Replica]) -> None:
    with replicas[1].client() as ava:
        ava.login("boss", WORD)
        done: list[str] = []
        thread = threading.Thread(target=lambda: done.append(ava.start("last", SPEC).id))
        thread.start()
        thread.join(60)
    assert replicas[1].stop() == 0
    assert done
    log = replicas[1].log.read_text()
    assert "Traceback" not in log
    assert WORD not in log


def test_a_port_that_is_taken_is_exit_status_2(replicas: list[Replica]) -> None:
    file = replicas[0].file
    done = subprocess.run(
        [sys.executable, "-m", "ava.api", "--config", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
