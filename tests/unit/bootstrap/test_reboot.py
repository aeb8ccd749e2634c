"""The step `boot` of bootstrap: kernel arguments are set and nodes rebooted one by one, and none that serves."""

import json
import time
from pathlib import Path

import pytest

from avadm.bootstrap import reboot as step
from avadm.bootstrap.controller_key import ensure
from avadm.bootstrap.report import findings, warnings
from avadm.cli.bootstrap import _print as show
from avadm.site import profile
from tests.unit.bootstrap.servers import Servers

V1 = "systemd.unified_cgroup_hierarchy=0"
FILE = "etc/default/grub.d/avadm.cfg"
PROGRAMS = {
    "systemctl": "cat $HOME/serves 2>/dev/null; exit 0",
    "docker": "cat $HOME/containers 2>/dev/null; exit 0",
    "pgrep": "exit 1",
    "update-grub": "[ -e $HOME/grub-fails ] && { echo 'no space left' >&2; exit 1; }\n"
    ". $HOME/etc/default/grub.d/avadm.cfg\n"
    'echo "  linux /boot/vmlinuz-6.1 root=/dev/sda1 ro $GRUB_CMDLINE_LINUX" > $HOME/boot/grub/grub.cfg\n'
    "[ -e $HOME/grub-ignores ] && echo '  linux /boot/vmlinuz-6.1 ro' > $HOME/boot/grub/grub.cfg\nexit 0",
    # A reboot: another boot's id, and what grub.cfg says on the command line.
    "systemd-run": "date +%s.%N >> $HOME/reboots; [ -e $HOME/dead ] && exit 0\n"
    "echo second-$(basename $HOME) > $HOME/proc/sys/kernel/random/boot_id\n"
    "[ -e $HOME/other-entry ] && exit 0\nsed 's/.*root/root/' $HOME/boot/grub/grub.cfg > $HOME/proc/cmdline\n"
    f"grep -q {V1} $HOME/proc/cmdline && [ ! -e $HOME/no-v1 ] && mkdir -p $HOME/sys/fs/cgroup/memory; exit 0",
}


class Room(Servers):
    def __init__(self, folder):
        super().__init__(folder)
        self.messages = []
        for name, text in PROGRAMS.items():
            self.program(name, text)

    def add(self, name, **files):
        home = self.folder / name
        for one in ("proc/sys/kernel/random", "boot/grub", "sys/fs/cgroup"):
            (home / one).mkdir(parents=True)
        (home / "proc/sys/kernel/random/boot_id").write_text(f"first-{name}\n")
        (home / "proc/cmdline").write_text("root=/dev/sda1 ro quiet\n")
        (home / "proc/modules").write_text("ext4 1 2 - Live 0x0\n")
        for path, text in files.items():
            (home / path.replace("__", "/")).write_text(text)
        self.start(name, {"PATH": f"{self.folder}/bin:/usr/bin:/bin"}, password="pw")
        return home

    def run(self, arguments=(V1,), allow=True, timeout=6.0):
        return self.bootstrapped(
            lambda offers: True,
            lambda: "pw",
            arguments=dict.fromkeys(self.servers, arguments),
            allow_reboot=allow,
            reboot_timeout=timeout,
            poll_seconds=0.1,
            say=self.messages.append,
            root=lambda node: str(self.folder / node),
        )

    def rebooted(self):
        return [n for n in self.servers if (self.folder / n / "reboots").exists()]


@pytest.fixture
def room(tmp_path):
    made = Room(tmp_path)
    yield made
    made.close()


def boot(report):
    return str(report.steps["boot"].state) if "boot" in report.steps else None


def test_nodes_are_rebooted_one_after_the_other_and_a_second_run_does_nothing(room):
    homes = [room.add(n) for n in ("n1", "n2", "n3")]
    first = room.run()
    assert {n: boot(r) for n, r in first.items()} == dict.fromkeys(("n1", "n2", "n3"), "changed")
    assert all(V1 in (h / "proc/cmdline").read_text() for h in homes)
    stamps = [float((h / "reboots").read_text()) for h in homes]
    assert stamps == sorted(stamps)
    assert [s.split()[1] for s in room.messages] == ["n1", "n2", "n3"]
    again = room.run()
    assert {boot(r) for r in again.values()} == {"ok"} and not findings(again.values())
    assert all(len((h / "reboots").read_text().splitlines()) == 1 for h in homes), "no second reboot"


def test_the_next_is_rebooted_only_when_the_one_before_is_back(room, monkeypatch):
    room.add("n1")
    room.add("n2")
    away = []
    back = step._back

    def watch(job, target, before):
        away.append(target.node)
        time.sleep(0.3)
        assert room.rebooted() == away
        return back(job, target, before)

    monkeypatch.setattr(step, "_back", watch)
    room.run()
    assert away == ["n1", "n2"]


def test_one_that_does_not_come_back_ends_the_series(room):
    room.add("n1")
    room.add("n2", dead="")
    room.add("n3")
    reports = room.run(timeout=1.0)
    assert [boot(r) for r in reports.values()] == ["changed", "failed", "failed"]
    assert room.rebooted() == ["n1", "n2"], "never a second one beside one that is away"
    assert "did not come back within 1 s" in reports["n2"].finding.what
    assert "n3 was not rebooted, since n2 failed" in reports["n3"].finding.what


def test_without_leave_nothing_is_written_and_the_way_is_named(room):
    home = room.add("n1")
    report = room.run(allow=False)["n1"]
    assert boot(report) == "pending" and not (home / FILE).exists() and not room.rebooted()
    (warning,) = warnings([report])
    assert "boot.allow_reboot: true" in warning.remedy and V1 in warning.what


@pytest.mark.parametrize(
    "files",
    [
        {"serves": "ceph-osd@3.service loaded active running OSD\n"},
        {"serves": "kubelet.service loaded active running kubelet\n"},
        {"serves": "ssh.service loaded active\npostgresql@15-main.service loaded active\n"},
        {"containers": "3f2a\n"},
    ],
    ids=["ceph", "kubelet", "database", "container"],
)
def test_a_node_that_serves_is_never_rebooted(room, files):
    home = room.add("n1", **files)
    report = room.run()["n1"]
    assert boot(report) == "failed" and "it serves already" in report.finding.what
    assert not (home / FILE).exists() and not room.rebooted()


def test_a_plain_machine_does_not_serve(room):
    room.add(
        "n1",
        serves="ssh.service loaded active\nprometheus-node-exporter.service loaded active\ndocker.service x\n",
    )
    assert boot(room.run()["n1"]) == "changed"


def test_the_machine_that_avadm_runs_on_is_never_rebooted(room):
    home = room.add("n1")
    (home / "proc/sys/kernel/random/boot_id").write_text(step.OWN_BOOT.read_text())
    report = room.run()["n1"]
    assert boot(report) == "failed" and "avadm runs on it" in report.finding.what
    assert not room.rebooted()


def test_a_boot_loader_that_is_none_of_grubs_is_refused(room):
    home = room.add("n1")
    (home / "boot/grub").rmdir()
    report = room.run()["n1"]
    assert "does not boot by GRUB" in report.finding.what and not room.rebooted()


@pytest.mark.parametrize(
    ("file", "message", "reboots"),
    [
        ("grub-fails", "update-grub failed", []),
        ("grub-ignores", "grub.cfg lacks them", []),
        ("other-entry", "still lacks", ["n1"]),
    ],
)
def test_what_goes_wrong_is_named_and_ends_the_series(room, file, message, reboots):
    room.add("n1", **{file: ""})
    room.add("n2")
    reports = room.run()
    assert message in reports["n1"].finding.what
    assert room.rebooted() == reboots and boot(reports["n2"]) == "failed"


def test_an_argument_without_effect_is_not_tried_again_and_again(room):
    home = room.add("n1", **{"no-v1": ""})
    room.run()
    report = room.run()["n1"]
    assert "which has no effect" in report.finding.what
    assert len((home / "reboots").read_text().splitlines()) == 1


def test_nouveau_is_kept_away_where_it_is_loaded(room):
    home = room.add("n1", proc__modules="nouveau 1 2 - Live 0x0\n")
    room.add("n2")
    argument = "modprobe.blacklist=nouveau"
    # It stays in the file of modules here, so the node still lacks it afterwards: that is reported.
    reports = room.run(arguments=(argument,))
    assert argument in (home / FILE).read_text()
    assert "still lacks modprobe.blacklist=nouveau" in reports["n1"].finding.what
    assert boot(reports["n2"]) == "ok", "nothing to do where it is not loaded"


def test_a_node_without_arguments_is_not_asked(room):
    room.add("n1")
    report = room.run(arguments=())["n1"]
    assert "boot" not in report.steps


def test_the_profile_says_which_roles_need_what() -> None:
    debian = profile.load("debian-12")
    assert debian.arguments(["mon", "osd"]) == []
    assert debian.arguments(["master", "etcd"]) == [V1]
    assert debian.arguments(["worker", "gpu"]) == ["modprobe.blacklist=nouveau", V1]
    assert profile.load("lab-bookworm").arguments(["worker", "gpu"]) == [], "the kernel is the machine's own"


def test_the_steps_are_in_the_json(room):
    room.add("n1")
    step_of = json.loads(json.dumps(room.run()["n1"].as_dict()))["steps"]["boot"]
    assert step_of == {"state": "changed", "detail": f"rebooted with {V1}"}
    assert Path(room.folder / "n1" / FILE).read_text().endswith(f'"$GRUB_CMDLINE_LINUX {V1}"\n')


def test_a_node_that_is_still_to_be_rebooted_is_not_shown_as_done(room, capsys, tmp_path):
    room.add("n1")
    report = room.run(allow=False)["n1"]
    show(ensure(tmp_path / "key", "x"), [report])
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith("n1")]
    assert "reboot" in line
    assert "Ready: 0 nodes; 1 changed. To be rebooted first: n1." in out
