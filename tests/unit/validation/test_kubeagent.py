"""The program of the acceptance pods, run here: what it serves, asks and resolves, over loopback."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import avadm_validation
from avadm_validation.suites.kubernetes import volumes

TOOL = Path(avadm_validation.__file__).parent / "tools" / "kubeagent.py"


def agent(*arguments, **env):
    done = subprocess.run(
        [sys.executable, TOOL, *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return json.loads(done.stdout)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def server():
    port = free_port()
    env = {**os.environ, "NODE": "n1", "POD": "echo-1"}
    running = subprocess.Popen([sys.executable, TOOL, "serve", str(port)], env=env)
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/"
    finally:
        running.kill()
        running.wait()


def test_who_answers_is_reported_and_who_does_not_is_an_error(server):
    dead = f"http://127.0.0.1:{free_port()}/"
    job = {"requests": [{"url": server, "times": 3}, {"url": dead}], "timeout": 3}
    report = agent("ask", json.dumps(job), NODE="n0", POD="echo-0")
    assert (report["node"], len(report["answers"])) == ("n0", 4)
    good = [a for a in report["answers"] if a["url"] == server]
    assert {(a["status"], a["node"], a["pod"], a["error"]) for a in good} == {(200, "n1", "echo-1", "")}
    (bad,) = (a for a in report["answers"] if a["url"] == dead)
    assert bad["status"] == 0 and bad["error"] and "pod" not in bad


class Names(threading.Thread):
    """A DNS server on loopback that knows one name, and says nothing to the first question where it shall."""

    def __init__(self, deaf):
        super().__init__(daemon=True)
        self.deaf = deaf
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))

    def run(self):
        while True:
            packet, who = self.socket.recvfrom(4096)
            if self.deaf:
                self.deaf -= 1
                continue
            known = b"\5known" in packet
            answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 5, 4) + socket.inet_aton("10.0.0.7")
            flags = 0x8180 if known else 0x8183
            head = packet[:2] + struct.pack(">HHHHH", flags, 1, int(known), 0, 0)
            self.socket.sendto(head + packet[12:] + (answer if known else b""), who)


@pytest.mark.parametrize("deaf", [0, 1])
def test_names_are_resolved_and_absent_ones_are_reported(deaf, monkeypatch):
    import importlib.util

    spec = importlib.util.spec_from_file_location("kubeagent", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = Names(deaf)
    names.start()
    port = names.socket.getsockname()[1]
    send = socket.socket.sendto

    class Here(socket.socket):
        def sendto(self, data, where):
            return send(self, data, (where[0], port))

    monkeypatch.setattr(module.socket, "socket", Here)
    assert module.query("127.0.0.1", "known.x.test", 1) == (0, ["10.0.0.7"])
    assert module.query("127.0.0.1", "absent.x.test", 1) == (3, [])


def test_a_machine_without_cards_has_none():
    report = agent("gpus", NVIDIA_VISIBLE_DEVICES="all")
    assert (report["visible"], report["devices"], report["listed"]) == ("all", [], None)


def test_what_is_written_is_known_beforehand_and_read_back(tmp_path):
    path = str(tmp_path / "proof")
    wrote = agent("write", json.dumps({"path": path, "token": "run1", "mib": 3}), CLAIM=volumes.name("rbd"))
    read = agent("read", json.dumps({"path": path}), NODE="n2", POD="p")
    assert wrote["sha256"] == read["sha256"] == volumes.digest("run1", "rbd", 3)
    assert (read["node"], read["error"]) == ("n2", "")
    assert (tmp_path / "proof").stat().st_size == 3 << 20


def test_a_file_that_is_not_there_or_cannot_be_written_is_reported(tmp_path):
    missing = {"path": str(tmp_path / "no" / "proof"), "token": "t", "mib": 1}
    for command in ("write", "read"):
        report = agent(command, json.dumps(missing))
        assert report["sha256"] == "" and "No such file" in report["error"]
