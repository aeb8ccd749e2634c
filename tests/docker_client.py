"""A client that speaks docker's protocol with a registry and its token server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CHALLENGE = re.compile(r'([a-z]+)="([^"]*)"')


@dataclass
class Docker:
    """What docker does with a registry: asks, is sent to the token server with a scope, and comes back with a token.

    Attributes:
        name, secret: as in `docker login`; None: not logged in.
        token: a token that is shown instead of asking for one.
        status: of the token server's last answer.
    """

    url: str
    ca: Path
    name: str | None = None
    secret: str = ""
    token: str | None = None
    status: int = 0
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._trust = ssl.create_default_context(cafile=self.ca)
        self.http = httpx.Client(base_url=self.url, verify=self._trust, trust_env=False, timeout=20)

    def ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        head = dict(headers or {})
        if self.token is not None:
            return self.http.request(
                method, path, headers=head | {"authorization": f"Bearer {self.token}"}, **more
            )
        answer = self.http.request(method, path, headers=head, **more)
        if answer.status_code != 401:
            return answer
        report = dict(_CHALLENGE.findall(answer.headers["www-authenticate"]))
        self.asked.append(report.get("scope", ""))
        token = self.fetch(report["realm"], report["service"], report.get("scope", "").split())
        if token is None:
            return answer
        return self.http.request(method, path, headers=head | {"authorization": f"Bearer {token}"}, **more)

    def fetch(self, realm: str, service: str, scope: list[str]) -> str | None:
        """Return a token as the token server gives it; None where it gives none."""
        basic = base64.b64encode(f"{self.name}:{self.secret}".encode()).decode()
        headers = {} if self.name is None else {"authorization": f"Basic {basic}"}
        params: dict[str, Any] = {
            "account": self.name or "",
            "client_id": "docker",
            "service": service,
            "scope": scope,
        }
        got = httpx.get(realm, params=params, headers=headers, trust_env=False, verify=self._trust)
        self.status = got.status_code
        return str(got.json()["token"]) if got.is_success else None

    def blob(self, repository: str, content: bytes) -> tuple[int, str]:
        """Send a blob; return the status that it ended with and its digest."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        begun = self.ask("POST", f"/v2/{repository}/blobs/uploads/")
        if begun.status_code != 202:
            return begun.status_code, digest
        where = httpx.URL(begun.headers["location"])
        path = str(where.copy_with(scheme=None, host=None, port=None)) if where.host else str(where)
        done = self.ask("PUT", f"{path}&digest={digest}", content=content)
        return done.status_code, digest

    def push(self, name: str, command: list[str], layer: bytes = b"layer") -> int:
        """Push an image of one layer; return the status that it ended with."""
        repository, _, tag = name.partition(":")
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Cmd": command}}).encode()
        parts = {}
        for part, content in (("config", config), ("layer", layer)):
            status, digest = self.blob(repository, content)
            if status != 201:
                return status
            parts[part] = {"size": len(content), "digest": digest}
        return self.manifest(repository, tag, parts["config"], [parts["layer"]])

    def manifest(
        self, repository: str, tag: str, config: dict[str, Any], layers: list[dict[str, Any]]
    ) -> int:
        """Send a manifest; return the status."""
        body = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config | {"mediaType": "application/vnd.docker.container.image.v1+json"},
            "layers": [
                {"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip"} | one for one in layers
            ],
        }
        path = f"/v2/{repository}/manifests/{tag}"
        return self.ask("PUT", path, headers={"content-type": MANIFEST}, content=json.dumps(body)).status_code

    def pull(self, name: str) -> int:
        """Read a manifest; return the status."""
        repository, _, tag = name.partition(":")
        return self.ask("GET", f"/v2/{repository}/manifests/{tag}", headers={"accept": MANIFEST}).status_code

    def copy(self, source: str, target: str) -> int:
        """Have an image under another name without sending its layers; return the status that it ended with."""
        (old, _, tag), (new, _, wanted) = source.partition(":"), target.partition(":")
        got = self.ask("GET", f"/v2/{old}/manifests/{tag}", headers={"accept": MANIFEST})
        if got.status_code != 200:
            return got.status_code
        body = got.json()
        for digest in {body["config"]["digest"], *(layer["digest"] for layer in body["layers"])}:
            status = self.ask("POST", f"/v2/{new}/blobs/uploads/?mount={digest}&from={old}").status_code
            if status != 201:
                return status
        path = f"/v2/{new}/manifests/{wanted}"
        return self.ask("PUT", path, headers={"content-type": MANIFEST}, content=got.content).status_code
