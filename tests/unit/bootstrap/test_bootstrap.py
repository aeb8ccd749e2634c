import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from avadm.bootstrap.controller_key import ensure
from avadm.bootstrap.password import from_file
from avadm.bootstrap.report import BootstrapState, findings
from avadm.errors import AvadmError
from avadm.remote.hostkeys import fingerprint
from avadm.remote.reason import Why
from tests.unit.bootstrap.servers import Servers
from tests.unit.remote.sshserver import new_key


class Lab(Servers):
    """Servers of which it is kept what was asked of the user."""

    def __init__(self, folder):
        super().__init__(folder)
        self.asked = []
        self.prompts = 0

    def add(self, name, **options):
        (self.folder / name).mkdir()
        return self.start(name, {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}, **options)

    def run(self, *, accept=True, password=None, **options):
        def confirm(offers):
            self.asked += [o.target.node for o in offers]
            return accept

        def ask():
            self.prompts += 1
            return password

        return self.bootstrapped(confirm, ask, **options)


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path)
    yield lab
    lab.close()


def states(report):
    return {name: str(step.state) for name, step in report.steps.items()}


def test_new_nodes_are_made_ready_and_a_second_run_does_nothing(lab):
    lab.add("n1", password="pw")
    lab.add("n2", password="pw")
    first = lab.run(password="pw")
    assert states(first["n1"]) == {"host_key": "changed", "key": "changed", "root": "ok", "python": "ok"}
    assert (lab.asked, lab.prompts) == (["n1", "n2"], 1)
    second = lab.run()
    assert {r.state for r in second.values()} == {BootstrapState.OK}
    assert (lab.asked, lab.prompts) == (["n1", "n2"], 1)


def test_authorized_keys_keeps_what_is_there_and_is_private(lab):
    lab.add("n1", password="pw")
    folder = lab.folder / "n1" / ".ssh"
    folder.mkdir(mode=0o755)
    path = folder / "authorized_keys"
    path.write_text("ssh-rsa AAAA other")  # no newline at its end
    lab.run(password="pw")
    lines = path.read_text().splitlines()
    assert (lines[0], len(lines)) == ("ssh-rsa AAAA other", 2)
    assert lines[1].startswith("ssh-ed25519 ") and lines[1].endswith("avadm@test")
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, path)] == [0o700, 0o600]


def test_existing_key_lets_the_controllers_key_in(lab, tmp_path):
    old = new_key(tmp_path / "old")
    lab.add("n1", accept=[old])
    report = lab.run(existing=[old])["n1"]
    assert report.steps["key"].state is BootstrapState.CHANGED
    assert lab.prompts == 0


def test_unconfirmed_host_key_pins_nothing_and_sends_no_password(lab):
    server = lab.add("n1", password="pw")
    report = lab.run(accept=False, password="pw")["n1"]
    assert states(report) == {"host_key": "failed"}
    assert not (lab.folder / "known_hosts").exists()
    assert fingerprint(server.host_key) in json.dumps(report.as_dict())
    assert findings([report])


def test_host_key_of_the_site_file_is_pinned_without_asking(lab):
    server = lab.add("n1", password="pw")
    report = lab.run(accept=False, password="pw", declared={"n1": server.host_key})["n1"]
    assert report.state is BootstrapState.CHANGED
    assert lab.asked == []


def test_another_host_key_than_the_site_files_stops(lab, tmp_path):
    lab.add("n1", password="pw")
    report = lab.run(password="pw", declared={"n1": new_key(tmp_path / "x")})["n1"]
    assert states(report) == {"host_key": "failed"}
    assert lab.prompts == 0


def test_changed_host_key_stops_with_the_way_out_that_works(lab, tmp_path):
    server = lab.add("n1", password="pw")
    lab.run(password="pw")
    old = fingerprint(server.host_key)
    server.host_key = new_key(tmp_path / "new")
    report = lab.run(password="pw")["n1"]
    assert states(report) == {"host_key": "failed"}
    finding = report.finding
    assert old in finding.what
    assert fingerprint(server.host_key) in finding.what
    command = finding.remedy[finding.remedy.index("ssh-keygen -R") :].split(" (and correct")[0]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert lab.run()["n1"].state is BootstrapState.CHANGED


def test_a_node_at_an_address_with_another_nodes_key_stops(lab, tmp_path):
    server = lab.add("n1", password="pw")
    lab.run(password="pw")
    known, line = lab.folder / "known_hosts", "[127.0.0.1]:{} ssh-ed25519 {}\n"
    other = new_key(tmp_path / "other")
    name = f"[n1]:{server.port} ssh-ed25519 {server.host_key.get_base64()}\n"
    known.write_text(name + line.format(server.port, other.get_base64()))
    for declared in ({}, {"n1": server.host_key}):
        report = lab.run(declared=declared)["n1"]
        assert states(report) == {"host_key": "failed"}
        assert fingerprint(other) in report.finding.what
    assert known.read_text().count("127.0.0.1") == 1
    # A new address that no one had is pinned without asking: the node's name has this very key.
    known.write_text(name)
    assert states(lab.run()["n1"])["host_key"] == "changed"
    assert lab.asked == ["n1"]


def test_wrong_password_is_a_failed_node_beside_good_ones(lab):
    lab.add("n1", password="pw")
    lab.add("n2", password="other")
    reports = lab.run(password="pw")
    assert reports["n1"].state is BootstrapState.CHANGED
    assert states(reports["n2"]) == {"host_key": "changed", "key": "failed"}
    assert "password" in reports["n2"].finding.what
    assert "pw" not in json.dumps(reports["n2"].finding.as_dict()).split()


def test_no_way_in_says_what_to_give(lab):
    lab.add("n1", password="pw")
    report = lab.run(password=None)["n1"]
    assert "--password-file" in report.finding.remedy


def test_slow_login_is_a_timeout_and_asks_for_no_password(lab, monkeypatch):
    monkeypatch.setattr("avadm.remote.connect.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    lab.add("n1", password="pw", auth_delays=[4.0])
    report = lab.run(password="pw")["n1"]
    assert states(report) == {"host_key": "changed", "key": "failed"}
    assert report.finding.what.why is Why.AUTH_TIMEOUT
    assert lab.prompts == 0


def test_unreachable_node_is_named_with_the_reason(lab):
    lab.add("n1").close()
    report = lab.run()["n1"]
    assert "connection refused" in report.finding.what
    assert "n1" in report.finding.what


def test_missing_python_is_found(lab):
    lab.add("n1", password="pw")
    report = lab.run(password="pw", interpreter="/usr/bin/python9.9", install_python=False)["n1"]
    assert states(report)["python"] == "failed"
    assert "python9.9" in report.finding.what


def test_python_is_installed_through_the_proxy(lab, tmp_path):
    lab.add("n1", password="pw")
    python = tmp_path / "python3"
    makes = f'case "$*" in *install*) ln -sf {sys.executable} {python};; esac'
    lab.program("apt-get", f'echo "$@" >> {tmp_path}/apt.log\n{makes}\n')
    report = lab.run(password="pw", interpreter=str(python), proxy="http://10.0.0.5:3142")["n1"]
    assert states(report)["python"] == "changed"
    log = (tmp_path / "apt.log").read_text()
    assert "Acquire::http::Proxy=http://10.0.0.5:3142" in log
    assert log.strip().endswith("python3")


@pytest.mark.parametrize("sudo", ["works", "asks"])
def test_other_users_need_sudo(lab, sudo):
    lab.add("n1", password="pw")
    body = 'shift; exec "$@"' if sudo == "works" else "echo 'sudo: a password is required' >&2; exit 1"
    lab.program("sudo", f"{body}\n")
    report = lab.run(password="pw", user="ops")["n1"]
    if sudo == "works":
        assert report.steps["root"].detail == "ops by sudo"
        assert report.state is BootstrapState.CHANGED
    else:
        assert states(report)["root"] == "failed"
        assert "a password is required" in report.finding.found
        assert "NOPASSWD" in report.finding.remedy


SUDO = """
if [ "$1" = -n ]; then
  [ -e {flag} ] || {{ echo 'sudo: a password is required' >&2; exit 1; }}
  shift; exec "$@"
fi
echo "$*" >> {flag}.argv
IFS= read -r given
[ "$given" = right ] || {{ echo 'Sorry, try again.' >&2; echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }}
touch {flag}; echo granted
"""


@pytest.fixture
def asking(lab, tmp_path):
    """A node whose sudo asks for the password "right" until it was given, and the file that says that it was."""
    lab.add("n1", password="pw")
    flag = tmp_path / "granted"
    lab.program("sudo", SUDO.format(flag=flag))
    return flag


def test_sudo_s_password_is_given_once_and_never_in_argv(lab, asking):
    report = lab.run(password="pw", user="ops", sudo_password=lambda: "right")["n1"]
    assert states(report) == {"host_key": "changed", "key": "changed", "root": "changed", "python": "ok"}
    argv = Path(f"{asking}.argv").read_text()
    assert "ops ALL=(ALL) NOPASSWD: ALL" in argv
    assert "visudo -cqf" in argv
    assert "right" not in argv + "".join(lab.servers["n1"].commands)
    again = lab.run(user="ops", sudo_password=lambda: pytest.fail("asked again"))["n1"]
    assert states(again)["root"] == "ok"


def test_a_wrong_sudo_password_is_reported_and_nothing_done(lab, asking):
    report = lab.run(password="pw", user="ops", sudo_password=lambda: "wrong")["n1"]
    assert states(report) == {"host_key": "changed", "key": "changed", "root": "failed"}
    assert "does not take this password for ops" in report.finding.what
    assert report.finding.found == "a wrong password"
    assert not asking.exists()


def test_a_login_that_may_not_use_sudo_is_reported_from_a_wrong_password(lab, asking):
    refuses = "echo 'ops is not in the sudoers file.' >&2; exit 1\nIFS="
    lab.program("sudo", SUDO.format(flag=asking).replace("IFS=", refuses))
    report = lab.run(password="pw", user="ops", sudo_password=lambda: "right")["n1"]
    assert "not in the sudoers file" in report.finding.found
    assert "sudo -l" in report.finding.remedy


def test_controller_key_is_made_once_and_private(tmp_path):
    first = ensure(tmp_path / "keys" / "id", "c")
    assert first.created
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o600
    shown = subprocess.run(["ssh-keygen", "-y", "-f", first.path], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[:2] == first.line.split()[:2]
    assert not ensure(first.path, "c").created


def test_controller_key_open_to_others_is_refused(tmp_path):
    path = ensure(tmp_path / "id", "c").path
    path.chmod(0o644)
    with pytest.raises(AvadmError) as error:
        ensure(path, "c")
    assert "chmod 600" in error.value.findings[0].remedy


def test_controller_key_that_is_none_is_not_overwritten(tmp_path):
    (tmp_path / "id").write_text("my notes")
    (tmp_path / "id").chmod(0o600)
    with pytest.raises(AvadmError):
        ensure(tmp_path / "id", "c")
    assert (tmp_path / "id").read_text() == "my notes"


def test_password_file(tmp_path):
    path = tmp_path / "pw"
    path.write_text("secret word \nmore\n")
    path.chmod(0o600)
    assert from_file(path) == "secret word "
    path.chmod(0o640)
    with pytest.raises(AvadmError, match="read by others"):
        from_file(path)
    with pytest.raises(AvadmError, match="cannot be read"):
        from_file(tmp_path / "none")
