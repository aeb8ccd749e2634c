"""How to reach an API server and prove who one is: from a kubeconfig file or a pod's service account."""

from __future__ import annotations

import base64
import os
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_AGE = 60.0
"""Seconds after which a token file is read again: newer clusters renew it."""


class InvalidKubeconfig(ValueError):
    """A kubeconfig or service account that cannot be used; says file, key and what is wanted."""


@dataclass(slots=True)
class Access:
    """Where the API server is and who asks.

    Attributes:
        server: ``https://HOST:PORT``; plain http is refused unless ``insecure_http`` (tests on 127.0.0.1).
        ca, cert, key: PEM; empty where there is none. Never shown by ``repr``.
        token: bearer token; ``token_file`` is read instead where given, again each minute.
        name: name that the server's certificate must have, where it is not the host's.
    """

    server: str
    ca: bytes = field(default=b"", repr=False)
    cert: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    name: str | None = None
    _read: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        local = self.server.startswith(("http://127.0.0.1:", "http://localhost:"))
        if not self.server.startswith("https://") and not local:
            raise InvalidKubeconfig(f"server {self.server!r}: wanted https://HOST:PORT")
        self.server = self.server.rstrip("/")

    def headers(self) -> dict[str, str]:
        """Return the header that proves who asks; empty with a client certificate."""
        if self.token_file is not None and (not self.token or time.monotonic() - self._read > TOKEN_AGE):
            try:
                self.token = self.token_file.read_text(encoding="ascii").strip()
            except OSError as error:
                if not self.token:
                    raise InvalidKubeconfig(f"{self.token_file}: {error.strerror}") from None
            self._read = time.monotonic()
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def tls(self) -> ssl.SSLContext | None:
        """Return a context that trusts this CA only and verifies the name; None for plain http."""
        if self.server.startswith("http://"):
            return None
        context = ssl.create_default_context(cadata=self.ca.decode("ascii") if self.ca else None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A private CA of 2018 need not carry what X.509's strict mode of newer Pythons wants.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.cert:
            _load(context, self.cert, self.key)
        return context


def _load(context: ssl.SSLContext, cert: bytes, key: bytes) -> None:
    """Load certificate and key. The library wants a file; this one is memory that has no name on any disk."""
    handle = os.memfd_create("ava-client", os.MFD_CLOEXEC)
    try:
        os.write(handle, cert + b"\n" + key)
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    except ssl.SSLError as error:
        raise InvalidKubeconfig(
            f"client certificate and key do not fit or are not PEM ({error.reason})"
        ) from None
    finally:
        os.close(handle)


def _named(entries: Any, name: str, what: str, path: Path) -> dict[str, Any]:
    for entry in entries or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.get(what)
            if isinstance(found, dict):
                return found
    raise InvalidKubeconfig(f"{path}: there is no {what} {name!r}")


def _bytes(entry: dict[str, Any], key: str, path: Path) -> bytes:
    """Return ``KEY-data`` decoded, or the content of the file that ``KEY`` names, relative to the kubeconfig."""
    if entry.get(f"{key}-data"):
        try:
            return base64.b64decode(entry[f"{key}-data"], validate=True)
        except ValueError:
            raise InvalidKubeconfig(f"{path}: {key}-data is not base64") from None
    if entry.get(key):
        file = path.parent / str(entry[key])
        try:
            return file.read_bytes()
        except OSError as error:
            raise InvalidKubeconfig(f"{file} ({key} of {path}): {error.strerror}") from None
    return b""


def from_kubeconfig(path: Path, context: str | None = None) -> Access:
    """Read a kubeconfig file; ``context`` is the current one where None. Programs (``exec``) are not run.

    Raises BadAccess; its message never holds what the file says beyond names.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidKubeconfig(f"{path}: {error.strerror}") from None
    except yaml.YAMLError:
        raise InvalidKubeconfig(f"{path}: not YAML") from None
    if not isinstance(document, dict):
        raise InvalidKubeconfig(f"{path}: not a kubeconfig")
    chosen = _named(
        document.get("contexts"), context or str(document.get("current-context")), "context", path
    )
    cluster = _named(document.get("clusters"), str(chosen.get("cluster")), "cluster", path)
    user = _named(document.get("users"), str(chosen.get("user")), "user", path)
    if cluster.get("insecure-skip-tls-verify"):
        raise InvalidKubeconfig(
            f"{path}: insecure-skip-tls-verify is set; give certificate-authority instead"
        )
    token_file = user.get("tokenFile")
    return Access(
        server=str(cluster.get("server", "")),
        ca=_bytes(cluster, "certificate-authority", path),
        cert=_bytes(user, "client-certificate", path),
        key=_bytes(user, "client-key", path),
        token=str(user.get("token") or ""),
        token_file=path.parent / str(token_file) if token_file else None,
        name=cluster.get("tls-server-name"),
    )


def in_cluster(folder: Path = ACCOUNT) -> Access:
    """Return the access of the pod that this process runs in, by its service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise InvalidKubeconfig("KUBERNETES_SERVICE_HOST is not set: not in a pod; give a kubeconfig")
    try:
        ca = (folder / "ca.crt").read_bytes()
    except OSError as error:
        raise InvalidKubeconfig(f"{folder / 'ca.crt'}: {error.strerror}") from None
    shown = f"[{host}]" if ":" in host else host
    return Access(server=f"https://{shown}:{port}", ca=ca, token_file=folder / "token")
