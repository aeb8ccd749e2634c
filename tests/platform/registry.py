"""A real image registry of the distribution with the role's configuration."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from avadm.artifacts import node_archives
from bench.control_plane import Authority, free_port
from tests.platform.packages import unpacked
from tests.unit.fakes.roles import template, value, variables


class Process:
    """One of the role's processes, over TLS on a loopback port.

    Args:
        folder: with server.crt, server.key and the authorities that it trusts; the images go to ``images`` there.
        server: as the role calls it: ``reader``, ``writer``, ``users``.
        more: variables of the role.
    """

    def __init__(self, folder: Path, server: str, **more: Any) -> None:
        self.folder, self.port, report = folder, free_port(), free_port()
        have = (
            variables("registry")
            | more
            | {"registry_storage": f"{folder}/images", "registry_address": "127.0.0.1"}
        )
        text = template("registry/templates/config.yml.j2", **have, server=f"{{{{ _registry_{server} }}}}")
        text = re.sub(r"(?m)^  addr: .*$", f"  addr: 127.0.0.1:{self.port}", text)
        text = re.sub(r'addr: "127[^"]*"', f'addr: "127.0.0.1:{report}"', text).replace(
            "/etc/docker-registry", str(folder)
        )
        (folder / f"{server}.yml").write_text(text)
        program = (
            unpacked("docker-registry", ["docker-registry"], "usr/bin/docker-registry")
            / "usr/bin/docker-registry"
        )
        self.log = folder / f"{server}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, "serve", folder / f"{server}.yml"], stdout=log, stderr=log
            )
        self.url = f"https://localhost:{self.port}"
        end = time.monotonic() + 20
        while time.monotonic() < end:
            assert self._process.poll() is None, self.log.read_text()
            try:
                httpx.get(f"http://127.0.0.1:{report}/metrics", timeout=1)
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError(self.log.read_text())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


class Space:
    """The role's program that tells what users have, over the same images; limits as its settings have them."""

    def __init__(self, folder: Path, limits: Mapping[str, int | None], percent: int = 0) -> None:
        self.port = free_port()
        settings = value(
            "{{ _registry_space_settings | to_json }}",
            **variables("registry")
            | {
                "registry_storage": f"{folder}/images",
                "registry_address": "127.0.0.1",
                "registry_space_client": "registry:ava",
                "registry_space_limits": dict(limits),
                "registry_room_percent": percent,
            },
        )
        report = settings if isinstance(settings, dict) else json.loads(settings)
        report = {
            k: str(v).replace("/etc/docker-registry", str(folder)) if k != "limits" else v
            for k, v in report.items()
        }
        (folder / "space.json").write_text(json.dumps(report | {"listen": f"127.0.0.1:{self.port}"}))
        self.log = folder / "space.log"
        program = node_archives.variables("avadm-node-registry", folder)["files"]["program"]["path"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-S", program, "serve", folder / "space.json"], stdout=log, stderr=log
            )
        end = time.monotonic() + 20
        while time.monotonic() < end:
            assert self._process.poll() is None, self.log.read_text()
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def folder_of(root: Path) -> tuple[Path, Authority, Authority]:
    """Return a folder for processes, the servers' authority and that of who gives out tokens."""
    folder = Path(tempfile.mkdtemp(prefix="ava-registry-", dir=root))
    (folder / "tls").mkdir()
    (folder / "tokens").mkdir()
    (folder / "images").mkdir()
    tls, tokens = Authority(folder / "tls"), Authority(folder / "tokens")
    for ending, path in zip(("crt", "key"), tls.issue("server", "localhost"), strict=True):
        path.rename(folder / f"server.{ending}")
    (folder / "tokens.crt").write_bytes((folder / "tokens/ca.crt").read_bytes())
    return folder, tls, tokens
