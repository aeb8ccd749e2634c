"""ssh into workbenches: what users do with it, and what the gateway does not let through."""

import contextlib
import socket
import subprocess
import time

import pytest

from tests.lab.ava.bench_ways import Ssh
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def strange(people, bench, gateway):
    """Eve's own workbench and her ssh, which works."""
    probe = Ssh(people.eve.folder, bench.it.ssh, gateway)
    people.eve.ava.put_key("ssh", "laptop", probe.public)
    made = people.eve.start()
    ssh = Ssh(people.eve.folder, made.ssh, gateway).write()
    until(lambda: ssh.run("bench", "true", check=False).returncode == 0, 120)
    return ssh


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def background(ssh, *options):
    """ssh in the background, ended at the end."""
    argv = ["ssh", "-F", str(ssh.config), "-o", "ExitOnForwardFailure=yes", *options]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as it:
        try:
            yield it
        finally:
            it.terminate()


def test_files_go_both_ways_by_scp_and_sftp(bench, tmp_path):
    here, back = tmp_path / "here", tmp_path / "back"
    here.write_bytes(bytes(range(256)) * 4096)
    bench.ssh.run(str(here), "bench:there", program="scp")
    bench.ssh.run("bench:there", str(back), program="scp")
    assert back.read_bytes() == here.read_bytes()
    bench.ssh.run("-b", "-", "bench", program="sftp", input=f"put {here} other\nrename other third\n")
    assert bench.ssh.run("bench", "cmp there third && stat -c %s third").stdout.strip() == str(2**20)


def test_rsync_copies_a_tree(bench, tmp_path, lab, platform):
    """rsync is on no machine of the lab but in the workbench: its server is spoken to as rsync does."""
    reply = bench.ssh.run(
        "bench", "rsync --version | head -1; mkdir -p a/b && echo 1 > a/b/c && rsync -a a/ d && cat d/b/c"
    )
    assert reply.stdout.startswith("rsync  version 3")
    assert reply.stdout.split()[-1] == "1"


def test_a_login_has_the_containers_variables_and_a_terminal(bench):
    reply = bench.ssh.run("-tt", "bench", "echo $AVA_RUN $HOME; tty; echo $SHELL").stdout.split()
    assert reply[0] == bench.it.run
    assert reply[2].startswith("/dev/pts/")
    assert reply[3] == "/bin/bash"


def test_ports_of_the_workbench_are_forwarded(bench):
    port = free_port()
    with background(bench.ssh, "-N", "-L", f"{port}:127.0.0.1:8888", "bench"):

        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as one:
                one.sendall(b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n")
                return b"version" in one.makefile("rb").read()
            return False

        until(answers, 30)


def test_a_session_as_of_an_editor_lives_on_with_a_server_and_a_dynamic_forward(bench):
    """VS Code's: one long connection that runs a server, and a SOCKS proxy through which the editor speaks to it."""
    port = free_port()
    server = (
        'exec python3 -u -c \'import http.server as h; s = h.HTTPServer(("127.0.0.1", 0), h.SimpleHTTPRequestHandler); '
        "print(s.server_port); s.serve_forever()'"
    )
    with background(bench.ssh, "-D", f"127.0.0.1:{port}", "bench", server) as it:
        inner = int(it.stdout.readline())
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port), 10) as one:
                one.sendall(b"\x05\x01\x00")
                assert one.recv(2) == b"\x05\x00"
                name = b"127.0.0.1"
                one.sendall(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + inner.to_bytes(2, "big"))
                assert one.recv(10)[1] == 0
                one.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert b"200 OK" in one.makefile("rb").read()
            time.sleep(1)
        assert it.poll() is None


def test_the_gateway_gives_no_shell_no_command_and_no_files(bench):
    for words in (["gateway"], ["gateway", "id"], ["-tt", "gateway"], ["-s", "gateway", "sftp"]):
        done = bench.ssh.run(*words, check=False, timeout=30, input="id\n")
        assert done.returncode != 0, words
        assert "uid=" not in done.stdout


def addresses(platform, people, bench):
    """Return what must not be reached through the gateway, by a word for it."""
    services = platform.ctl("get services --namespace=ava-system")["items"]
    ips = {s["metadata"]["name"]: s["spec"]["clusterIP"] for s in services}
    pods = platform.ctl(f"get pods --namespace=ava-{people.eve.name}")["items"]
    other = next(w for w in people.eve.ava.workbenches())
    own = next(p for p in platform.ctl(f"get pods --namespace=ava-{people.ann.name}")["items"])
    return {
        "API server": "10.96.0.1:443",
        "a master's sshd": "10.77.0.61:22",
        "etcd": "10.77.0.61:2379",
        "a kubelet": "10.77.0.101:10250",
        "AVA's API": f"{ips['told']}:9090",
        "the gateway's own sshd": "127.0.0.1:2222",
        "its pod's other side": "localhost:22",
        "the database": "10.77.0.248:5432",
        "another's workbench by name": f"{other.ssh.host}:22",
        "another's workbench by address": f"{pods[0]['status']['podIP']}:2222",
        "the own workbench's Jupyter": f"{own['status']['podIP']}:8888",
        "the own workbench by address": f"{own['status']['podIP']}:2222",
        "the own workbench's name, another port": f"{bench.it.ssh.host}:8888",
        "a name of the outside": "example.org:80",
    }


def test_the_gateway_reaches_nothing_but_ones_own_workbenches(platform, people, bench, strange):
    report = "-o", "LogLevel=INFO"
    for what, where in addresses(platform, people, bench).items():
        done = bench.ssh.run(*report, "-W", where, "gateway", check=False, timeout=30, input="x\n")
        assert done.returncode != 0, what
        assert "administratively prohibited" in done.stderr, (what, done.stderr)
        assert done.stdout == "", what
    # The control: what is one's own is reached by the same words.
    assert bench.ssh.run("-W", f"{bench.it.ssh.host}:22", "gateway", input="").stdout.startswith("SSH-2.0-")


@pytest.mark.parametrize(
    "options", [["-N", "-R", "0:127.0.0.1:22"], ["-N", "-w", "0:0"], ["-N", "-R", "/tmp/s:127.0.0.1:22"]]
)
def test_the_gateway_listens_for_no_one_and_makes_no_tunnel(bench, options):
    argv = ["ssh", "-F", str(bench.ssh.config), "-o", "ExitOnForwardFailure=yes", *options, "gateway"]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode != 0


def test_no_password_and_no_unknown_key_gets_in(people, bench, gateway):
    unknown = Ssh(people.ann.folder, bench.it.ssh, gateway, key="unknown").write()
    assert "Permission denied" in unknown.run("bench", "true", check=False).stderr
    asked = bench.ssh.run(
        "-o",
        "PubkeyAuthentication=no",
        "-o",
        "PreferredAuthentications=password,keyboard-interactive",
        "gateway",
        check=False,
    )
    assert "Permission denied (publickey)" in asked.stderr


def test_a_new_key_gets_in_and_a_revoked_one_does_not(people, bench, gateway):
    new = Ssh(people.ann.folder, bench.it.ssh, gateway, key="new").write()
    people.ann.ava.put_key("ssh", "new", new.public)
    began = time.monotonic()
    until(lambda: new.run("bench", "true", check=False).returncode == 0, 90)
    print(f"a new key got in after {time.monotonic() - began:.1f} s")
    people.ann.ava.delete_key("ssh", "new")
    assert "Permission denied" in new.run("gateway", "-W", "x:1", check=False).stderr, (
        "at once at the gateway"
    )

    def forgotten():
        return (
            new.public.split()[1] not in bench.ssh.run("bench", "cat /etc/ava/bench/authorized_keys").stdout
        )

    until(forgotten, 90)
    assert bench.ssh.run("bench", "echo here").stdout == "here\n"


def test_an_open_connection_ends_with_its_key(people, bench, gateway):
    new = Ssh(people.ann.folder, bench.it.ssh, gateway, key="ends").write()
    people.ann.ava.put_key("ssh", "ends", new.public)
    until(lambda: new.run("bench", "true", check=False).returncode == 0, 90)
    with (
        background(new, "bench", "echo up; exec sleep 600") as it,
        background(bench.ssh, "bench", "cat") as other,
    ):
        assert it.stdout.readline() == "up\n"
        people.ann.ava.delete_key("ssh", "ends")
        began = time.monotonic()
        it.wait(60)
        print(f"the connection ended {time.monotonic() - began:.1f} s after its key was removed")
        other.stdin.write("still here\n")
        other.stdin.flush()
        assert other.stdout.readline() == "still here\n", "that of another key continues"


def test_connections_go_on_through_the_other_gateway_when_one_dies(platform, lab, bench):
    pods = platform.ctl("get pods --namespace=ava-system --selector=part=jump")["items"]
    assert len(pods) == 2
    name = pods[0]["metadata"]["name"]
    lab.sh(platform.master, f"kubectl delete pod --namespace=ava-system {name} --grace-period=0 --force")
    until(lambda: bench.ssh.run("bench", "true", check=False).returncode == 0, 30)
    public = {bench.ssh.run("bench", "true").returncode for _ in range(4)}
    assert public == {0}, "the host key is the same on both"


def test_a_connection_ends_with_the_workbench(people, strange):
    with background(strange, "bench", "echo up; exec sleep 600") as it:
        assert it.stdout.readline() == "up\n"
        run = next(iter(people.eve.ava.workbenches())).run
        people.eve.ava.stop(run)
        began = time.monotonic()
        it.wait(60)
        print(f"the connection ended {time.monotonic() - began:.1f} s after the stop")
        until(lambda: people.eve.ava.run(run).state == "stopped", 120)
    assert strange.run("bench", "true", check=False).returncode != 0
