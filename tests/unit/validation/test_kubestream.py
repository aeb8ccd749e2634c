"""Connections that stay open, here over loopback: what is served comes back, what is cut or another's is reported."""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import avadm_validation

TOOL = Path(avadm_validation.__file__).parent / "tools" / "kubestream.py"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(**job):
    job = {"address": "127.0.0.1", "timeout": 5, "host": "x.test", **job}
    done = subprocess.run(
        [sys.executable, TOOL, "ask", json.dumps([job])],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return json.loads(done.stdout)["streams"]


@pytest.fixture(scope="module")
def ports():
    ports = {"tcp": free_port(), "websocket": free_port()}
    program = subprocess.Popen(
        [sys.executable, TOOL, "serve", json.dumps(ports)], env={"NODE": "n1", "POD": "p1"}
    )
    for port in ports.values():
        for _ in range(100):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
    yield ports
    program.kill()
    program.wait()


@pytest.mark.parametrize("kind", ["tcp", "websocket"])
@pytest.mark.parametrize("size", [30, 600, 9000])
def test_every_message_comes_back_and_the_pod_says_who_it_is(ports, kind, size):
    found = ask(kind=kind, port=ports[kind], times=2, messages=4, bytes=size)
    assert [(s["echoed"], s["error"], s["pod"], s["node"]) for s in found] == [(4, "", "p1", "n1")] * 2


def test_no_one_there_is_no_connection():
    (found,) = ask(kind="tcp", port=free_port())
    assert not found["connected"]
    assert found["error"]


@pytest.fixture
def door():
    """A server that answers with what it got, then hangs up; returns its port."""
    opened = []

    def serve(text):
        server = socket.create_server(("127.0.0.1", 0))
        opened.append(server)

        def one():
            link, _ = server.accept()
            link.recv(4096) if text.startswith(b"HTTP") else None
            link.sendall(text)
            link.close()

        threading.Thread(target=one, daemon=True).start()
        return server.getsockname()[1]

    yield serve
    for server in opened:
        server.close()


def test_an_answer_that_is_no_upgrade_is_reported(door):
    (found,) = ask(kind="websocket", port=door(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    assert (found["connected"], found["echoed"]) == (True, 0)
    assert "not upgraded: HTTP/1.1 200 OK" in found["error"]


def test_an_upgrade_of_another_request_is_reported(door):
    answer = b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: bm8=\r\n\r\n"
    assert "another's" in ask(kind="websocket", port=door(answer))[0]["error"]


def test_a_connection_that_is_cut_is_reported(door):
    (found,) = ask(kind="tcp", port=door(b'{"node": "n", "pod": "p"}\n'))
    assert found["echoed"] == 0
    assert found["error"]


def test_another_program_that_answers_is_not_a_pod(door):
    (found,) = ask(kind="tcp", port=door(b"SSH-2.0-OpenSSH_9.2\r\n"))
    assert (found["pod"], found["echoed"]) == ("", 0)
    assert found["error"]
