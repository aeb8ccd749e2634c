"""A real master and worker of Alluxio from the artifact, with the role's configuration, units and command line, on loopback."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import time
from pathlib import Path
from typing import IO, Any

import httpx

import tests.unit.fakes.running  # noqa: F401 - lets modules be imported as on a node
from avadm.site import profile as profiles
from bench.control_plane import free_port
from tests.platform.jars import jars
from tests.unit.fakes.roles import ROLES, template, variables

mounts = importlib.import_module("avadm_alluxio_mounts")
AlluxioError = mounts.alluxio.AlluxioError
SERVERS = ("master", "worker")
SIZES = {
    "heaps": {"master": 256, "worker": 256},
    "tiers": [{"kind": "MEM", "path": "/var/lib/alluxio/mem", "quota_mib": 64}],
    "block_mib": 1,
}


class Alluxio:
    """A cache of one master and one worker, as the role alluxio sets them up on a node; its places are below a folder.

    Args:
        folder: of all that it has.
        sync_s: after how many seconds what is asked for is compared with its under store.
        address: of both servers.
    """

    def __init__(self, folder: Path, sync_s: int = 1, address: str = "127.0.0.1") -> None:
        self.folder, self.address = folder, address
        ports = ("master_port", "master_web_port", "worker_port", "worker_web_port", "journal_port")
        self.have: dict[str, Any] = variables("alluxio") | {f"alluxio_{name}": free_port() for name in ports}
        self.have |= {
            "alluxio_address": address,
            "alluxio_masters": [address],
            "alluxio_parts": list(SERVERS),
            "alluxio_java_options": profiles.load("lab-bookworm").features["alluxio_java_options"],
            "alluxio_hdfs_user": "ava",
            "alluxio_sync_interval_s": sync_s,
            "_alluxio_sizes": {"sizes": SIZES},
        }
        self._artifact = jars("alluxio")
        for name in (
            "lib/home/lib",
            "lib/home/extensions",
            "lib/root",
            "lib/web",
            "lib/tmp",
            "lib/mem",
            "etc",
            "log",
        ):
            (folder / name).mkdir(parents=True)
        self.write("alluxio-site.properties.j2", "etc/alluxio-site.properties")
        (folder / "etc/log4j2.properties").write_text((ROLES / "alluxio/files/log4j2.properties").read_text())
        self.command = self.write("avadm-alluxio.j2", "avadm-alluxio")
        self.command.chmod(0o755)
        self._running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []

    @property
    def master(self) -> str:
        """The URL of the master's pages."""
        return f"http://{self.address}:{self.have['alluxio_master_web_port']}"

    def __enter__(self) -> Alluxio:
        try:
            self.run("format", "MASTER")
            for server in SERVERS:
                self._start(server)
                port = self.have[f"alluxio_{server}_web_port"]
                self.until(lambda url=f"http://{self.address}:{port}/metrics/prometheus/": _page(url))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End both servers."""
        for process, log in self._running:
            # A master that waits for a namenode ends late.
            process.kill()
            process.wait(10)
            log.close()
        self._running = []

    def write(self, source: str, target: str, **more: Any) -> Path:
        """Write what becomes of one of the role's templates, with its places below the folder."""
        path = self.folder / target
        path.write_text(self._here(template(f"alluxio/templates/{source}", **(self.have | more))))
        return path

    def run(self, *words: str, timeout: int = 90) -> str:
        """Return what the command line says."""
        done = self.asked(*words, timeout=timeout)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout

    def asked(self, *words: str, timeout: int = 90) -> subprocess.CompletedProcess[str]:
        """Return how a call of the command line ended."""
        env = {**os.environ, "AVADM_ALLUXIO_TIMEOUT": str(timeout)}
        argv = [str(self.command), *words]
        return subprocess.run(
            argv, capture_output=True, text=True, env=env, timeout=timeout + 10, check=False
        )

    def mount(self, wanted: list[dict[str, Any]]) -> tuple[list[str], list[str], list[str]]:
        """Do what the role's module does; return what it mounted, updated, and found beside."""

        def run(argv: list[str]) -> tuple[int, str, str]:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
            return done.returncode, done.stdout, done.stderr

        table = mounts.Mounts([str(self.command)], run)
        found: tuple[list[str], list[str], list[str]] = mounts.ensure(
            wanted, "", table, str(self.folder / "lib/mounts.json"), 90, False
        )
        return found

    def counted(self, name: str) -> float:
        """Return a figure of the worker."""
        url = f"http://{self.address}:{self.have['alluxio_worker_web_port']}/metrics/prometheus/"
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", _page(url), re.M)
        return float(found[1]) if found else 0.0

    def until(self, holds: Any, seconds: float = 120) -> None:
        """Wait for something."""
        end = time.monotonic() + seconds
        while True:
            try:
                if holds():
                    return
            except httpx.HTTPError:
                pass
            logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
            assert time.monotonic() < end, logs
            assert all(process.poll() is None for process, _ in self._running), logs
            time.sleep(0.3)

    def _start(self, server: str) -> None:
        """Start a server as its unit does."""
        unit = self.write(
            "avadm-alluxio-server.service.j2", f"{server}.service", _alluxio_part=server
        ).read_text()
        text = unit.replace("\\\n", " ")
        (start,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
        env = dict(pair.split("=", 1) for pair in re.findall(r"^Environment=(.*)$", text, re.M))
        log = (self.folder / f"{server}.log").open("ab")
        process = subprocess.Popen(shlex.split(start), env={**os.environ, **env}, stdout=log, stderr=log)
        self._running.append((process, log))

    def _here(self, text: str) -> str:
        for place, folder in (
            ("/var/lib/alluxio", "lib"),
            ("/etc/alluxio", "etc"),
            ("/var/log/alluxio", "log"),
        ):
            text = text.replace(place, str(self.folder / folder))
        return text.replace("/opt/alluxio/", f"{self._artifact}/")


def _page(url: str) -> str:
    return httpx.get(url, timeout=10, trust_env=False).raise_for_status().text
