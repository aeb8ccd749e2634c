"""The shipper of the role log_shipper and a store, both real, on this machine: what a container's file holds is read back."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinja2
import yaml

from avadm.secret_patterns import LINE_PATTERNS, PATTERNS
from bench.control_plane import free_port
from tests.platform.built import built
from tests.platform.packages import environment, unpacked

ROOT = Path(__file__).parents[3]
ROLE = ROOT / "roles/log_shipper"
STORE = ROOT / "roles/log_store/templates/avadm-log-store.service.j2"
PACKAGES = ["syslog-ng-core", "syslog-ng-mod-http"]
POD = "r1ilp5dnq7e1m-0-worker-0"
NAME = f"{POD}_ava-vision_main-{'0' * 64}.log"


def program() -> tuple[Path, dict[str, str]]:
    """Return syslog-ng of the distribution, and the environment in which it finds its libraries."""
    there = unpacked("syslog-ng", PACKAGES, "usr/sbin/syslog-ng")
    return there, environment(there)


def store_flags() -> list[str]:
    """Return the store's options that are about lines, as the role's unit has them."""
    values = yaml.safe_load((STORE.parents[1] / "defaults/main.yml").read_text())
    words = jinja2.Template(STORE.read_text()).render(values).split()
    return [word for word in words if word.startswith(("-defaultMsgValue", "-insert."))]


def rendered(folder: Path, url: str) -> str:
    """Return the role's configuration for a folder of containers' logs and one store."""
    values: dict[str, Any] = yaml.safe_load((ROLE / "defaults/main.yml").read_text())
    values |= {
        "ansible_managed": "by a test",
        "inventory_hostname": "comp1",
        "log_shipper_journal": False,
        "log_shipper_containers": str(folder / "containers"),
        "log_shipper_data_dir": str(folder / "data"),
        "log_shipper_stores": [{"name": "s1", "url": url}],
        "log_shipper_password": "word",
        "log_shipper_secrets": [p.pcre() for p in (*PATTERNS, *LINE_PATTERNS)],
        "log_shipper_buffer_mib": 16,
    }
    loader = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)  # noqa: S701  no page
    (folder / "ca.crt").touch()
    text = loader.from_string((ROLE / "templates/syslog-ng.conf.j2").read_text()).render(values)
    return text.replace("/etc/avadm/log-shipper/ca.crt", str(folder / "ca.crt"))


@contextmanager
def shipping(folder: Path) -> Iterator[Shipping]:
    """Run both."""
    (folder / "containers").mkdir()
    (folder / "data").mkdir()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    binary = built("victoria-logs") / "victoria-logs"
    reply = (folder / "output.txt").open("wb")
    command = [binary, f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={folder / 'store'}"]
    command += ["-inmemoryDataFlushInterval=1s", *store_flags()]
    store = subprocess.Popen(command, stderr=reply)
    there, env = program()
    (folder / "shipper.conf").write_text(rendered(folder, url))
    modules = next((there / "usr/lib/syslog-ng").glob("3.*"))
    shipper = subprocess.Popen(
        [
            there / "usr/sbin/syslog-ng",
            "-F",
            f"--cfgfile={folder / 'shipper.conf'}",
            f"--persist-file={folder / 'position'}",
            f"--pidfile={folder / 'pid'}",
            f"--control={folder / 'control'}",
            f"--module-path={modules}",
        ],
        env=env,
        stderr=reply,
    )
    try:
        yield Shipping(folder, url, (store, shipper))
    finally:
        for one in (shipper, store):
            one.terminate()
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait(10)
        reply.close()
        shutil.rmtree(folder / "store", ignore_errors=True)


class Shipping:
    """A shipper and a store that run."""

    def __init__(self, folder: Path, url: str, processes: tuple[subprocess.Popen[bytes], ...]) -> None:
        self.folder, self.url, self._processes = folder, url, processes
        self.store, self.shipper = processes

    def write(self, records: list[tuple[str, str, str]], name: str = NAME) -> None:
        """Write records (time, stream, text) as docker's json-file does."""
        rows = [
            json.dumps(
                {"log": reply, "stream": stream, "time": at}, separators=(",", ":"), ensure_ascii=False
            )
            # Docker escapes these three, as Go's encoder of JSON does, and the two separators of lines.
            .translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
            for at, stream, reply in records
        ]
        with (self.folder / "containers" / name).open("a", encoding="utf-8") as file:
            file.write("".join(f"{row}\n" for row in rows))

    def kept(self, query: str = "*") -> bytes:
        """Return what the store answers."""
        body = urllib.parse.urlencode({"query": query, "limit": "10000"}).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url}/select/logsql/query", body, timeout=10) as answer:
            return bytes(answer.read())

    def wait(self, count: int, seconds: float = 30) -> list[dict[str, str]]:
        """Return the store's records once there are so many, in order of time; at the end of the time what there is."""
        end = time.monotonic() + seconds
        while True:
            assert all(p.poll() is None for p in self._processes), (self.folder / "output.txt").read_text()
            try:
                found = [json.loads(row) for row in self.kept().split(b"\n") if row]
            except OSError:
                found = []
            if len(found) >= count or time.monotonic() > end:
                return sorted(found, key=lambda row: str(row["_time"]))
            time.sleep(0.3)
