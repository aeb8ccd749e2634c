"""The script that clones code, by https from a server whose authority is the site's own."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ava.domain.spec import Git
from ava.operator.manifests import hostfile, pod_parts


def certificate(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1 that is its own authority; return the file with it and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "git")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(made.public_bytes(Encoding.PEM))
    file = folder / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A repository behind https: its URL and its only commit."""
    work, bare = tmp_path / "work", tmp_path / "www/code.git"
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "f").write_text("theirs")
    subprocess.run(["git", *who, "add", "f"], cwd=work, check=True)
    subprocess.run(["git", *who, "commit", "-qm", "1"], cwd=work, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    subprocess.run(["git", "update-server-info"], cwd=bare, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=bare, check=True, capture_output=True, text=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "www")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}/code.git", head.stdout.strip()
    server.shutdown()
    server.server_close()


def clone(folder: Path, url: str, commit: str, authority: str) -> subprocess.CompletedProcess[str]:
    for name in ("code", "home", "run"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "run" / pod_parts.GIT_CA).write_text(authority)
    container = pod_parts.clone(Git(url=url, commit=commit), "git:1")
    script = container["command"][2].replace("$$", "$")
    script = script.replace(pod_parts.CODE, str(folder / "code")).replace(
        hostfile.FOLDER, str(folder / "run")
    )
    env = {e["name"]: e["value"] for e in container["env"]}
    env |= {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "no_proxy": "*"}
    argv = ["/bin/sh", "-c", script]
    return subprocess.run(argv, env=env, check=False, capture_output=True, text=True, timeout=60)


def test_the_site_s_own_authority_is_believed(tmp_path: Path, served: tuple[str, str]) -> None:
    done = clone(tmp_path, *served, (tmp_path / "ca.crt").read_text())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "code/f").read_text() == "theirs"


def test_the_user_s_own_settings_are_neither_read_nor_changed(
    tmp_path: Path, served: tuple[str, str]
) -> None:
    (tmp_path / "home").mkdir()
    mine = tmp_path / "home/.gitconfig"
    mine.write_text(f'[url "https://127.0.0.1:1/"]\n\tinsteadOf = {served[0]}\n')
    before = mine.read_text()
    done = clone(tmp_path, *served, (tmp_path / "ca.crt").read_text())
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".gitconfig"]
    assert mine.read_text() == before


def test_without_it_the_server_is_not_believed(tmp_path: Path, served: tuple[str, str]) -> None:
    done = clone(tmp_path, *served, "")
    assert done.returncode != 0
    assert "certificate" in done.stderr
    assert not (tmp_path / "code/f").exists()


@pytest.mark.parametrize(
    "url", ["file:///etc", "http://127.0.0.1:1/x", "ext::sh -c true", "git://127.0.0.1/x"]
)
def test_no_other_protocol_is_spoken(tmp_path: Path, url: str) -> None:
    (tmp_path / "code").mkdir()
    git = Git.model_construct(url=url, commit="0" * 40, key=None)
    container = pod_parts.clone(git, "git:1")
    script = container["command"][2].replace("$$", "$").replace(pod_parts.CODE, str(tmp_path / "code"))
    env = {e["name"]: e["value"] for e in container["env"]} | {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=env, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "not allowed" in done.stderr
