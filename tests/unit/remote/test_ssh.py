from __future__ import annotations

import os
import shlex
import signal
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import paramiko
import pytest

from avadm.remote.connect import (
    LOOK,
    MAX_LOAD_FACTOR,
    ConnectionFailed,
    Credentials,
    Target,
    handshake,
    load_factor,
)
from avadm.remote.hostkeys import KnownHosts, fingerprint
from avadm.remote.keyfile import load_key
from avadm.remote.reason import Why
from avadm.remote.ssh import SshFleet
from avadm.site.model import Site
from tests.unit.fakes.running import sh, stub
from tests.unit.remote.sshserver import new_key


def test_command_gives_status_outputs_and_stdin(fleet):
    result = fleet.run("n1", "cat; echo 'it''s' >&2; exit 3", stdin=b"in\xffput")
    assert (result.rc, result.stdout, result.stderr, result.error) == (3, "in�put", "its\n", None)
    assert not result.ok
    assert result.seconds > 0


def test_a_silent_connection_is_not_looked_at_all_the_time(fleet):
    assert fleet.run("n1", "true").ok
    assert fleet._nodes["n1"].transport.sock.gettimeout() == LOOK


def test_a_node_that_joins_is_reached_with_the_key_that_was_pinned_meanwhile(server, tmp_path, reach):
    target = Target("n2", "127.0.0.1", server.port)
    with reach([Target("n1", "127.0.0.1", 1)], known="later") as fleet:
        with pytest.raises(KeyError):
            fleet.run("n2", "true")
        known = KnownHosts(tmp_path / "later")
        known.pin(target.entry_names, server.host_key)
        known.save()
        fleet.join([target])
        assert fleet.run("n2", "true").ok
        assert fleet.nodes == ["n1", "n2"]


def test_one_connection_is_kept(fleet, server):
    for _ in range(3):
        assert fleet.run("n1", "true").ok
    assert len(server.transports) == 1


ODD = "a'b\"c $HOME `id` \\ ; & | * \n end"
HEX = os.urandom(1 << 20).hex().encode() * 2


@pytest.mark.parametrize(
    ("command", "stdin", "output"),
    [
        ("cat; echo done", None, "done\n"),
        (f"printf %s {shlex.quote(ODD)}", None, ODD),
        ("cat", HEX, HEX.decode()),
        ("exit 0", b"x" * 5_000_000, ""),
    ],
    ids=["without stdin it sees its end", "odd characters", "big stdin, echoed", "stdin that is not read"],
)
def test_what_goes_in_and_out(fleet, command, stdin, output):
    result = fleet.run("n1", command, stdin=stdin, timeout=60)
    assert (result.rc, result.stdout) == (0, output)


def test_big_outputs_on_both_streams_do_not_deadlock(fleet):
    result = fleet.run("n1", "head -c 6000000 /dev/zero & head -c 5000000 /dev/zero >&2; wait", timeout=60)
    assert (result.rc, len(result.stdout), len(result.stderr)) == (0, 6_000_000, 5_000_000)


def test_timeout_ends_the_command_on_the_node(fleet, tmp_path):
    pid, never = tmp_path / "pid", tmp_path / "never"
    os.mkfifo(never)
    assert fleet.run("n1", "true").ok  # the connection is made before the clock starts
    # However busy the machine is, it is the time-out that ends it; what it prints first comes within the second one.
    for timeout in (1, 30):
        result = fleet.run("n1", f"echo $$ >{pid}; echo early; cat {never}", timeout=timeout)
        assert result.rc == 124
        assert "time-out" in result.error
        if result.stdout:
            break
    assert result.stdout == "early\n"
    until = time.monotonic() + 60
    while Path(f"/proc/{int(pid.read_text())}").exists():
        assert time.monotonic() < until, "it runs on"
        time.sleep(0.02)


def test_a_command_that_itself_exits_124_is_no_timeout(fleet):
    result = fleet.run("n1", "exit 124")
    assert (result.rc, result.error) == (124, None)


def test_changed_host_key_names_both_fingerprints(fleet, server, tmp_path):
    old = fingerprint(server.host_key)
    server.host_key = new_key(tmp_path / "host2")
    result = fleet.run("n1", "true")
    assert result.rc == 255
    for part in ("host key changed", "n1", old, fingerprint(server.host_key)):
        assert part in result.error
    assert server.commands == []


def test_unknown_host_key_is_refused(server, reach):
    with reach(server.port, known="none") as fleet:
        result = fleet.run("n1", "true")
    assert "not pinned" in result.error
    assert "avadm bootstrap" in result.error


def test_refused(server, reach):
    server.close()
    with reach(server.port) as fleet:
        result = fleet.run("n1", "true")
    assert (result.rc, result.ok) == (255, False)
    assert "connection refused" in result.error


def test_silent_peer_is_a_timeout(key, reach):
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        reach(silent.getsockname()[1], connect_timeout=0.5) as fleet,
    ):
        result = fleet.run("n1", "true")
    assert result.rc == 255
    assert result.error.startswith("no ssh: n1")


def test_a_peer_that_stops_after_its_banner_is_a_timeout():
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as peer:
        speak = lambda: kept.append(peer.accept()[0]) or kept[0].sendall(b"SSH-2.0-x\r\n")  # noqa: E731
        reply = threading.Thread(target=speak)
        reply.start()
        with pytest.raises(ConnectionFailed, match=r"time-out: n1 .*did not answer"):
            handshake(Target("n1", "127.0.0.1", peer.getsockname()[1]), timeout=0.3)
        reply.join()
        kept[0].close()


def test_wrong_password_names_the_methods(server, pinned, reach):
    server.password = "right"
    with reach(server.port, credentials=Credentials(password="wrong")) as fleet:
        result = fleet.run("n1", "true")
    assert "authentication failed" in result.error
    assert "password" in result.error
    assert "wrong" not in result.error
    with reach(server.port, credentials=Credentials(password="right")) as fleet:
        assert fleet.run("n1", "true").ok


def test_auth_timeout_is_retried_once_and_is_no_refusal(server, pinned, reach, monkeypatch):
    monkeypatch.setattr("avadm.remote.connect.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    server.auth_delays = [1.5]
    with reach(server.port, connect_timeout=0.5) as fleet:
        assert fleet.run("n1", "true").ok
    server.auth_delays = [1.5, 1.5, 1.5]
    with reach(server.port, connect_timeout=0.5) as fleet:
        result = fleet.run("n1", "true")
    assert (result.rc, result.error.why) == (255, Why.AUTH_TIMEOUT)
    assert result.error.facts == {"user": "root", "by": "publickey ssh-ed25519", "timeout": 0.5}
    assert server.auth_delays == [1.5]  # two tries, not three


def test_refused_login_is_not_retried(server, pinned, reach):
    server.accept, server.auth_delays = [], [0.0, 0.0]
    with reach(server.port) as fleet:
        assert fleet.run("n1", "true").error.why is Why.AUTH
    assert server.auth_delays == [0.0]


def test_auth_timeout_is_longer_on_a_busy_controller(server, pinned, reach, monkeypatch):
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setattr("avadm.remote.connect.os.getloadavg", lambda: (3.0 * cores, 0.0, 0.0))
    server.auth_delays = [1.0]
    with reach(server.port, connect_timeout=0.5) as fleet:
        assert fleet.run("n1", "true").ok
    assert len(server.transports) == 1


@pytest.mark.parametrize(("per_core", "factor"), [(0.1, 1.0), (2.5, 2.5), (100.0, MAX_LOAD_FACTOR)])
def test_load_factor(per_core, factor, monkeypatch):
    load = per_core * len(os.sched_getaffinity(0))
    monkeypatch.setattr("avadm.remote.connect.os.getloadavg", lambda: (load, 0.0, 0.0))
    assert load_factor() == pytest.approx(factor)


def test_missing_key_file_says_what_to_do(tmp_path, server, pinned, reach):
    with reach(server.port, key=tmp_path / "absent") as fleet:
        assert "avadm bootstrap" in fleet.run("n1", "true").error


def test_dead_kept_connection_is_made_again(fleet, server):
    assert fleet.run("n1", "true").ok
    server.drop_connections()
    assert fleet.run("n1", "echo again").stdout == "again\n"


def test_a_refused_channel_is_tried_again_and_cuts_no_one_off(fleet, server):
    server.sessions = 1
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda n: fleet.run("n1", f"sleep 0.5; echo {n}", timeout=20), range(3)))
    assert [(r.stdout, r.error) for r in done] == [("0\n", None), ("1\n", None), ("2\n", None)]
    assert server.refused
    assert len(server.transports) == 1


def test_of_two_channels_refused_at_once_neither_ends_the_connection(fleet, server, monkeypatch):
    """paramiko has one place for the exception of all threads: anyone who comes second finds none there."""
    assert fleet.run("n1", "true").ok
    refusals = iter([paramiko.SSHException("Unable to open channel.")])
    opened = paramiko.Transport.open_session

    def open_session(self, *args, **more):
        for refused in refusals:
            raise refused
        return opened(self, *args, **more)

    monkeypatch.setattr(paramiko.Transport, "open_session", open_session)
    assert fleet.run("n1", "echo again", timeout=20).stdout == "again\n"
    assert len(server.transports) == 1


def test_a_node_that_opens_no_channel_at_all_is_reported(fleet, server, monkeypatch):
    monkeypatch.setattr("avadm.remote.ssh.PATIENCE", 0.5)
    server.sessions = 0
    assert "MaxSessions" in fleet.run("n1", "true", timeout=0.1).error


def test_connection_lost_while_running_is_not_retried(fleet, server, tmp_path):
    assert fleet.run("n1", "true").ok
    begun = tmp_path / "count"

    def drop_when_it_runs() -> None:
        while not begun.exists() or not begun.read_text():
            time.sleep(0.01)
        server.drop_connections()

    threading.Thread(target=drop_when_it_runs, daemon=True).start()
    result = fleet.run("n1", f"echo x >> {begun}; sleep 5", timeout=30)
    assert result.rc == 255
    assert "lost" in result.error
    assert begun.read_text() == "x\n"


def test_background_child_holding_the_output_does_not_hang(fleet, tmp_path):
    pid = tmp_path / "pid"
    command = f"sleep 600 >/dev/null 2>&1 & echo $! >{pid}; echo ok"
    assert fleet.run("n1", command, timeout=300).stdout == "ok\n"
    # It runs on: it was not waited for.
    os.kill(int(pid.read_text()), signal.SIGKILL)


def test_put_is_atomic_private_and_sets_the_mode(fleet, tmp_path):
    path = tmp_path / "it's a file"
    path.write_text("old")
    inode = path.stat().st_ino
    assert fleet.put("n1", b"secret\n" * 100_000, str(path), mode=0o640).ok
    assert path.read_bytes() == b"secret\n" * 100_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_ino != inode
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("it's")] == [path.name]


def test_put_into_a_missing_folder_fails_with_the_reason(fleet, tmp_path):
    result = fleet.put("n1", b"x", f"{tmp_path}/no/such/file")
    assert not result.ok
    assert "No such file" in result.stderr


def test_non_root_user_goes_through_sudo(tmp_path, server, pinned, reach):
    server.env = stub(tmp_path / "bin/sudo", '[ "$1" = -n ] || exit 9\nshift\nexport BY=sudo\nexec "$@"')
    with reach(server.port, "ops") as fleet:
        assert fleet.run("n1", "echo \"$BY\" 'q' && cat", stdin=b"in").stdout == "sudo q\nin"


def test_map_runs_nodes_at_once(server, pinned, reach):
    targets = [Target(f"n{i}", "127.0.0.1", server.port) for i in range(40)]
    with reach(targets, limit=4) as fleet:
        fleet.map({t.node: "true" for t in targets})
        begun = time.monotonic()
        results = fleet.map({t.node: f"sleep 1; echo {t.node}" for t in targets})
        seconds = time.monotonic() - begun
    assert [r.stdout.strip() for r in results.values()] == [t.node for t in targets]
    assert seconds < 20  # 40 s one after another


def test_loaded_key_is_the_written_one(tmp_path, key):
    assert load_key(tmp_path / "id") == key


def test_known_hosts_is_what_openssh_reads(tmp_path, server):
    known = KnownHosts(tmp_path / "known_hosts")
    known.path.write_text("# ours\nother ssh-ed25519 AAAA")
    known.pin(["n1", "[10.0.0.1]:2222"], server.host_key)
    known.pin(["n1"], server.host_key)
    known.save()
    text = known.path.read_text()
    assert text.startswith("# ours\nother ssh-ed25519 AAAA\n")
    assert stat.S_IMODE(known.path.stat().st_mode) == 0o644
    for name in ("n1", "[10.0.0.1]:2222"):
        assert fingerprint(server.host_key) in sh("ssh-keygen", "-l", "-F", name, "-f", known.path).stdout


def test_a_site_file_names_nodes_key_and_pins(tmp_path, server, pinned):
    data = {
        "name": "s",
        "network": {"management": "127.0.0.0/8", "domain": "d.example"},
        "ssh": {"port": server.port},
        "nodes": [{"name": "n1", "address": "127.0.0.1"}],
    }
    file = SimpleNamespace(ssh_key=tmp_path / "id", known_hosts=pinned, site=Site.model_validate(data))
    with SshFleet(file) as fleet:
        assert fleet.run("n1", "echo it").stdout == "it\n"
