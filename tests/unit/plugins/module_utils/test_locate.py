"""disks.locate: the LED by ledctl, else by the enclosure; a node without either says so."""

from pathlib import Path

import pytest
from ansible.module_utils.avadm_node.probes.disks import locate


@pytest.fixture
def seen(machine):
    machine.add_disk()
    machine.answers["ledctl"] = (127, "", "ledctl: not found")
    return machine


def slot(machine, name="sdb"):
    folder = Path(machine.path("/sys/class/enclosure/0:0:1/Slot 01"))
    device = Path(machine.path("/sys/devices/pci0/host0/target0"))
    (device / "block" / name).mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(device)
    (folder / "locate").write_text("0")
    return folder / "locate"


def test_by_ledctl(seen):
    seen.answers["ledctl"] = (0, "", "")
    assert locate.do({"device": "/dev/sdb", "on": True}, seen) == {"done": True, "how": "ledctl"}
    locate.do({"device": "/dev/sdb", "on": False}, seen)
    assert [argv[1] for argv, _ in seen.calls] == ["locate=/dev/sdb", "locate_off=/dev/sdb"]


def test_by_the_enclosure(seen):
    led = slot(seen)
    assert locate.do({"device": "/dev/sdb", "on": True}, seen) == {"done": True, "how": "enclosure"}
    assert led.read_text() == "1"
    locate.do({"device": "/dev/sdb", "on": False}, seen)
    assert led.read_text() == "0"


def test_another_disk_of_the_enclosure_is_not_lit(seen):
    led = slot(seen, "sdc")
    assert not locate.do({"device": "/dev/sdb", "on": True}, seen)["done"]
    assert led.read_text() == "0"


def test_without_either_it_says_so(seen):
    found = locate.do({"device": "/dev/sdb", "on": True}, seen)
    assert found == {"done": False, "how": "there is no ledctl, and no enclosure has sdb"}


def test_a_disk_that_is_gone_has_no_led(seen):
    found = locate.do({"device": "/dev/sdz", "on": True}, seen)
    assert not found["done"]
    assert seen.calls == []
