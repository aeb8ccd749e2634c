"""The machines of `make vm` that boot by themselves: their site file, disk and command lines, without starting one."""

import json
import socket
import struct
from pathlib import Path

import pytest

from avadm.site.load import DRAFT, load
from avadm_lab.vm import disk, fleet, site_trial


def test_the_site_file_is_a_draft_until_its_disks_are_approved(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text(site_trial.text(allow_reboot=True))
    draft = load(path, DRAFT).site
    assert draft.boot.allow_reboot
    assert draft.profile == "debian-12"
    assert {n.name: str(n.address) for n in draft.nodes} == {m.name: m.address for m in site_trial.MACHINES}
    text = path.read_text()
    for machine in site_trial.MACHINES:
        text = text.replace("devices: []", f"devices: [{{serial: {machine.serials[0]}}}]", 1)
    path.write_text(text)
    assert load(path).site.nodes[0].devices


def test_a_machine_boots_by_its_own_boot_loader_and_needs_no_kvm(tmp_path: Path) -> None:
    one = fleet.Machine("vm9", "10.79.251.19", ("D1", "D2"))
    words = one.command(tmp_path)
    assert "-kernel" not in words, "a kernel of qemu's would not have the arguments that GRUB is given"
    assert words[words.index("-accel") + 1].startswith("tcg")
    assert [w for w in words if w.endswith(("serial=D1", "serial=D2"))] != []
    assert "name=opt/avadm/address,string=10.79.251.19/24" in words
    macs = {w for m in site_trial.MACHINES for w in m.command(tmp_path) if "mac=" in w}
    assert len(macs) == len(site_trial.MACHINES)
    assert all(len(m.tap) < 16 for m in site_trial.MACHINES)


def test_the_boot_record_names_one_bootable_partition() -> None:
    record = disk.mbr(disk.START, disk.SIZE)
    status, kind, start, sectors = struct.unpack("<B3xB3xII", record[446:462])
    assert (len(record), record[510:], status, kind) == (512, b"\x55\xaa", 0x80, 0x83)
    assert (start * 512, sectors * 512) == (disk.START, disk.SIZE)
    assert record[462:510] == b"\0" * 48


def test_the_disk_has_nothing_of_the_profiles_roles() -> None:
    """Else bootstrap would refuse to reboot a node that serves already, or the roles would find their work done."""
    from avadm.site import profile

    roles = profile.load("debian-12").packages
    own = {p for role, many in roles.items() if role not in ("base",) for p in many}
    assert own & set(disk.PACKAGES.split(",")) == set()


def test_a_machine_that_does_not_answer_is_an_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(RuntimeError, match="does not answer"):
        fleet.answers("127.0.0.1", 0.1, port)


BOOT = {"check": "bootstrap-boot", "host": "vm1"}
ANSWERS = {
    "bootstrap, no reboots": {"findings": [BOOT, BOOT | {"host": "vm2"}]},
    "preflight before": {"checks": [{"id": "boot", "findings": [{"host": "vm2"}, {"host": "vm1"}]}]},
    "bootstrap, reboots": {"nodes": {n: {"steps": {"boot": {"state": "changed"}}} for n in ("vm1", "vm2")}},
    "preflight after": {"checks": [{"id": "boot", "findings": []}]},
    "bootstrap again": {"nodes": {n: {"state": "ok"} for n in ("vm1", "vm2")}},
}


@pytest.mark.parametrize(
    ("step", "answer", "good"),
    [
        ("", {}, True),
        ("bootstrap, no reboots", {"findings": [BOOT]}, False),
        ("preflight before", {"checks": [{"id": "boot", "findings": []}]}, False),
        ("bootstrap, reboots", {"nodes": {"vm1": {"steps": {"boot": {"state": "ok"}}}}}, False),
        ("preflight after", {"checks": [{"id": "boot", "findings": [{"host": "vm1"}]}]}, False),
        ("bootstrap again", {"nodes": {"vm1": {"state": "changed"}, "vm2": {"state": "ok"}}}, False),
    ],
)
def test_bootstrap_has_to_warn_reboot_and_then_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, answer: dict[str, object], good: bool
) -> None:
    tried = site_trial.SiteTrial(tmp_path, tmp_path, lambda _: None)
    answers = ANSWERS | ({step: answer} if step else {})
    monkeypatch.setattr(tried, "avadm", lambda name, *_, **__: json.dumps(answers[name]))
    tried._bootstrap()
    assert tried.result["good"] is good
    assert len(tried.seen) == 5
    assert "allow_reboot: true" in (tmp_path / "site.yml").read_text()


def test_a_verb_that_fails_stops_the_trial_and_its_output_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin/avadm"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho called $3; exit 2\n")
    fake.chmod(0o755)
    monkeypatch.setattr(site_trial.sys, "executable", str(fake.parent / "python"))
    tried = site_trial.SiteTrial(tmp_path, tmp_path, lambda _: None)
    with pytest.raises(RuntimeError, match=r"exit status 2: see .*disk-list"):
        tried.avadm("disk list", "disk", "list")
    assert "called disk" in (tmp_path / "00-disk-list.log").read_text()
    assert list(tried.seconds) == ["disk list"]
