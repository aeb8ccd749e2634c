"""A real OpenSSH server set as the ssh gateway's: whose connections are closed, when, and whose continue.

It runs under the gateway's own number and password file, in a mount namespace; of the API a stand-in answers.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from bench.control_plane import free_port
from tests.platform.packages import environment, unpacked
from tests.unit.site.test_render_ava import ava, objects

JUMP = Path(__file__).parents[3] / "ava/gateway/ssh"
UID = 64100
SHORT = """
import sys
sys.path.insert(0, {folder!r})
import connections
connections.EVERY, connections.DEAF = 0.5, {deaf}
sys.exit(connections.main(sys.argv[1:]))
"""


class Api(http.server.ThreadingHTTPServer):
    """Answers as the API's internal port does. ``shut``: keys that are let in no more; ``away``: it fails."""

    daemon_threads = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.target, self.shut, self.away, self.asked = target, set(), False, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        api = self.server
        if api.away or self.headers["authorization"] != "Bearer " + "s" * 43:
            return self.send_error(500)
        if self.path == "/door/keys":
            name = "wb-d1.ava-vision.svc.cluster.local"
            # The name of the workbench, which sshd must know, and what the test forwards to.
            text = f'restrict,port-forwarding,permitopen="{name}:22",permitopen="127.0.0.1:{api.target}" {body["key"]}\n'
            text = "" if body["key"] in api.shut else text
        else:
            api.asked.append(body["connections"])
            text = json.dumps({"stay": [one["key"] not in api.shut for one in body["connections"]]})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())
        return None

    def log_message(self, *args):
        pass


class Gateway:
    """The gateway, as its container has it."""

    def __init__(self, folder, manifests, deaf=180.0):
        self.folder = folder
        folder.chmod(0o755)
        self.echo = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._echo, daemon=True).start()
        self.api = Api(self.echo.getsockname()[1])
        self.port = free_port()
        # The cache is root's alone, and sshd runs as another user.
        programs = folder / "programs"
        shutil.copytree(
            unpacked("openssh-server", ["openssh-server"], "usr/sbin/sshd"), programs, symlinks=True
        )
        data = manifests["ConfigMap doors"]["data"]
        command = manifests["Deployment jump"]["spec"]["template"]["spec"]["containers"][0]["command"][-1]
        for file in (JUMP / "authorized_keys.py", JUMP / "connections.py", programs / "usr/sbin/sshd"):
            shutil.copy(file, folder)
        for name, text in {"secret": "s" * 43, "passwd": data["passwd"], "host_key": ava.host_key()}.items():
            (folder / name).write_text(text)
            os.chown(folder / name, UID, UID)
            (folder / name).chmod(0o600 if name == "host_key" else 0o644)
        self.kept = folder / "connections"
        self.kept.mkdir()
        os.chown(self.kept, UID, UID)
        words = {
            "/usr/lib/ava/ava/gateway/ssh": str(folder),
            "http://told:9090": f"http://127.0.0.1:{self.api.server_port}",
            "/etc/ava/jump": str(folder),
            "/dev/shm/connections": str(self.kept),
            "/usr/sbin/sshd": str(folder / "sshd"),
            "/etc/ava/doors": str(folder),
        }

        def here(text):
            for old, new in words.items():
                text = text.replace(old, new)
            return text

        config = here(data["sshd_config"]).replace("Port 2222", f"Port {self.port}\nListenAddress 127.0.0.1")
        (folder / "sshd_config").write_text(config)
        # The program itself, looking more often.
        code = SHORT.format(folder=str(folder), deaf=deaf)
        argv = here(command).removeprefix("exec ").split()
        assert argv[2] == f"{folder}/connections.py"
        as_it = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
        script = 'mount --bind "$0" /etc/passwd && exec "$@"'
        line = ["unshare", "--mount", "--pid", "--mount-proc", "--fork"]
        line += ["sh", "-c", script, str(folder / "passwd"), *as_it]
        line += [argv[0], argv[1], "-c", code, *argv[3:]]
        self.log = (folder / "log").open("w+b")
        self.it = subprocess.Popen(line, stdout=self.log, stderr=self.log, env=environment(programs))
        until(lambda: not socket.socket().connect_ex(("127.0.0.1", self.port)))

    def _echo(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.echo.accept()
                threading.Thread(target=self._answer, args=(one,), daemon=True).start()

    @staticmethod
    def _answer(one):
        with one, contextlib.suppress(OSError):
            while data := one.recv(100):
                one.sendall(data)

    def key(self, name):
        made = self.folder / name
        if not made.exists():
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(made)]
            subprocess.run(argv, check=True, timeout=30)
        return made, made.with_suffix(".pub").read_text().strip()

    def open(self, *names):
        """Return ssh that passes its input through the gateway to the echo; it offers the keys of these names in turn."""
        line = ["ssh", "-F", "none", "-p", str(self.port), "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]
        line += [
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        ]
        line += [word for name in names for word in ("-i", str(self.folder / name))]
        line += ["-W", f"127.0.0.1:{self.api.target}", "ava@127.0.0.1"]
        path = {"PATH": os.environ["PATH"]}
        return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=path)

    def inner(self):
        """Return the number of the first process in its namespace, with which all others there end."""
        outer = self.it.pid
        return [int(one) for one in Path(f"/proc/{outer}/task/{outer}/children").read_text().split()]

    def close(self):
        for one in self.inner() if self.it.poll() is None else ():
            os.kill(one, signal.SIGKILL)
        self.it.kill()
        self.it.wait(10)
        self.api.shutdown()
        self.echo.close()
        self.log.close()
        shutil.rmtree(self.folder)


def until(reached, seconds=20.0):
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


def goes(it):
    """Whether a word comes back through a connection."""
    try:
        it.stdin.write(b"hello\n")
        it.stdin.flush()
        return it.stdout.readline() == b"hello\n"
    except OSError:
        return False


@pytest.fixture(scope="module")
def manifests(tmp_path_factory):
    doors = {"ava_doors": ["gate", "jump"], "ava_jump_host_key": ava.host_key()}
    return objects(tmp_path_factory.mktemp("site"), "parts.yml.j2", **doors)


@pytest.fixture
def gateway(manifests, request):
    # Pytest's own folders are closed to other accounts.
    made = Gateway(Path(tempfile.mkdtemp(prefix="avajump-")), manifests, *getattr(request, "param", ()))
    yield made
    made.close()


def test_who_may_no_longer_come_in_is_cut_and_others_go_on(gateway):
    _, anns = gateway.key("ann")
    gateway.key("ben")
    ann, ben = gateway.open("ann"), gateway.open("ben")
    assert goes(ann) and goes(ben)
    until(lambda: any(len(some) == 2 for some in gateway.api.asked))
    time.sleep(2)
    assert goes(ann) and goes(ben), "several looks close nothing"
    assert {tuple(one["definitions"]) for one in gateway.api.asked[-1]} == {("d1",)}
    gateway.api.shut.add(anns)
    began = time.monotonic()
    assert ann.wait(10) != 0
    print(f"closed {time.monotonic() - began:.1f} s after the refusal, at a look each 0.5 s")
    assert goes(ben)
    assert gateway.open("ann").wait(20) == 255, "nor is it let in again"
    until(lambda: len(gateway.api.asked[-1]) == 1)
    ben.stdin.close()
    assert ben.wait(10) == 0
    until(lambda: not list(gateway.kept.iterdir()))


def test_a_key_that_was_only_offered_keeps_no_connection_open(gateway):
    """Of another's key one has the public part: sshd asks about it, and lets no one in by it."""
    mine, line = gateway.key("eve")
    private, _ = gateway.key("ann")
    private.unlink()
    it = gateway.open("ann.pub", "eve")
    assert goes(it)
    # The gateway may have asked between the two keys, and then about the one that was only offered.
    until(lambda: gateway.api.asked and [one["key"] for one in gateway.api.asked[-1]] == [line])
    gateway.api.shut.add(line)
    assert it.wait(10) != 0
    assert mine.exists()


@pytest.mark.parametrize("gateway", [(4.0,)], indirect=True)
def test_while_the_api_is_away_connections_stay_for_a_while_and_not_for_ever(gateway):
    gateway.key("ann")
    it = gateway.open("ann")
    assert goes(it)
    gateway.api.away = True
    time.sleep(2)
    assert goes(it), "as long as the database takes to fail over"
    it.wait(10)
    gateway.api.away = False
    again = gateway.open("ann")
    assert goes(again)
    time.sleep(2)
    assert goes(again)


def test_whose_connection_could_not_be_closed_does_not_get_in(gateway):
    gateway.key("ann")
    gateway.kept.rmdir()
    assert gateway.open("ann").wait(20) == 255


def test_the_end_of_sshd_is_the_end_of_the_container_and_a_stop_reaches_it(gateway):
    (one,) = gateway.inner()
    os.kill(one, signal.SIGTERM)
    assert gateway.it.wait(5) is not None
