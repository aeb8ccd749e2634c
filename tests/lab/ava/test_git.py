"""Code of trainings from a git server by ssh: the server's key is verified, and nothing but the server is reached for it."""

import getpass
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from avadm.site.load import load
from avadm_lab.sitefile import GIT_PORT
from tests.lab.ava.user_journey import ENDED, SMALL

pytestmark = pytest.mark.lab
ROLES = [{"each": {**SMALL, "memory": 128 * 2**20}, "policy": "abort"}]


@dataclass
class Server:
    """sshd on this machine, which lets one key do nothing but fetch one repository."""

    folder: Path
    address: str
    host_key: Path
    process: subprocess.Popen | None = None

    @property
    def url(self):
        return f"ssh://{getpass.getuser()}@{self.address}:{GIT_PORT}{self.folder / 'code.git'}"

    def start(self, host_key=None):
        self.stop()
        shutil.copy(host_key or self.host_key, self.folder / "host_key")
        (self.folder / "host_key").chmod(0o600)
        Path("/run/sshd").mkdir(exist_ok=True)  # wanted of one that is root
        lines = (
            f"ListenAddress {self.address}:{GIT_PORT}",
            f"HostKey {self.folder}/host_key",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            "StrictModes no",
            "UsePAM no",
            "PermitRootLogin forced-commands-only",
            f"PidFile {self.folder}/pid",
        )
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")
        argv = ["/usr/sbin/sshd", "-D", "-e", "-f", str(self.folder / "sshd_config")]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(argv, stderr=log)
        time.sleep(0.5)
        assert self.process.poll() is None, (self.folder / "log").read_text()

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)


def keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
    return path.read_text(), path.with_suffix(".pub").read_text()


@pytest.fixture(scope="module")
def commits(server):
    """Two commits, which tell on standard output which they are."""
    work = server.folder / "work"

    def git(*argv):
        who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        done = subprocess.run(["git", *who, *argv], cwd=work, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    work.mkdir()
    git("init", "-q")
    found = []
    for number in (1, 2):
        (work / "train.py").write_text(f"print('commit {number}')\n")
        git("add", "train.py")
        git("commit", "-qm", str(number))
        found.append(git("rev-parse", "HEAD"))
    subprocess.run(["git", "clone", "-q", "--bare", work, server.folder / "code.git"], check=True)
    return found


@pytest.fixture(scope="module")
def server(day, lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("git")
    [known] = load(lab.site_path).site.components.ava.git
    host_key = Path(lab.site_path).parent / "hostkeys" / lab.nodes[0]["name"]
    made = Server(folder, str(known.networks[0].network_address), host_key)
    private, public = keygen(folder / "deploy")
    command = f"git-upload-pack '{folder / 'code.git'}'"
    (folder / "authorized_keys").write_text(f'restrict,command="{command}" {public}')
    day.user.put_key("deploy", "code", private)
    made.start()
    yield made
    made.stop()


def start(day, server, commit, command=("python3", "train.py"), **git):
    spec = {"image": "ava-base", "command": list(command), "roles": ROLES}
    return day.user.start(
        "code", {**spec, "git": {"url": server.url, "commit": commit, "key": "code", **git}}
    ).id


def test_a_training_s_code_is_that_of_exactly_one_commit(day, server, commits):
    for number, commit in enumerate(commits, 1):
        run = start(day, server, commit)
        day.succeeded(run)
        assert day.log(run, 1)[-1:] == [f"commit {number}"]


def test_a_server_that_shows_another_key_gets_no_one_s_deploy_key(day, server, commits):
    keygen(server.folder / "other")
    before = len((server.folder / "log").read_text())
    server.start(server.folder / "other")
    try:
        run = start(day, server, commits[0])
        ended = day.until(run, *ENDED)
    finally:
        server.start()
    assert ended.outcome != "succeeded"
    assert "SOMETHING NASTY" in ended.reason, "ssh's own words"
    assert "Accepted" not in (server.folder / "log").read_text()[before:]


def test_only_the_server_is_reached_and_only_by_who_clones(day, server, commits, lab):
    closed = [(lab.node("comp1")["address"], port) for port in (22, 5000, 10250)]
    closed += [(lab.node("mast1")["address"], 6443), (server.address, 22), (server.address, 3142)]
    doors = [(server.address, GIT_PORT), *closed]
    program = (
        "import socket\n"
        f"for door in {doors!r}:\n"
        "    s = socket.socket(); s.settimeout(1)\n"
        "    print(*door, 'closed' if s.connect_ex(door) else 'OPEN')\n"
    )
    cloning = start(day, server, commits[0], ("python3", "-c", program))
    other = day.start("no-code", program, roles=ROLES)
    day.succeeded(cloning)
    day.succeeded(other)
    shut = [f"{a} {p} closed" for a, p in closed]
    assert day.log(cloning, len(doors))[-len(doors) :] == [f"{server.address} {GIT_PORT} OPEN", *shut]
    assert day.log(other, len(doors)) == [f"{server.address} {GIT_PORT} closed", *shut]


def test_the_deploy_key_is_in_no_container_of_the_user(day, server, commits):
    look = "ls /etc/ava; env; ls -a $HOME; grep -rl 'PRIVATE KEY' /etc/ava /workspace $HOME 2>/dev/null; echo over"
    run = start(day, server, commits[0], ("bash", "-c", look))
    day.succeeded(run)
    reply = day.log(run, 5)
    assert reply[-1] == "over"
    assert "git" not in reply
    assert not [line for line in reply if "PRIVATE" in line or line.endswith("/key")]
