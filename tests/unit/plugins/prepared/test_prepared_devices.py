"""Prepared devices: the role that makes OSDs and preflight refuse each with its reason, and change none.

The devices are real (loop devices), and so is every probe; only ceph's and systemd's commands are stand-ins.
"""

import fcntl
import json
import os

import prepared_table
import pytest
from prepared_devices import DEVICES, ERASED, LATER, USED

REFUSED = [name for name, device in DEVICES.items() if device.says]


@pytest.fixture(scope="session")
def outcome(tmp_path_factory):
    if os.geteuid() != 0 or prepared_table.MISSING:
        pytest.skip(f"needs root and {', '.join(prepared_table.MISSING)}")
    folder = tmp_path_factory.mktemp("prepared")
    # With pytest-xdist each worker asks; the first one does it for all.
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    with (shared / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = shared / "prepared.json"
        if not kept.exists():
            kept.write_text(json.dumps(prepared_table.run(folder)))
        return json.loads(kept.read_text())


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_its_reason(outcome, name):
    assert DEVICES[name].says in prepared_table.answers(outcome)[name]


@pytest.mark.parametrize("name", [n for n in REFUSED if n not in LATER])
def test_preflight_finds_it_early(outcome, name):
    assert outcome["preflight"][name] != []


# The test itself writes one byte on "written"; nothing else may differ.
@pytest.mark.parametrize("name", [n for n in DEVICES if n != "written"])
def test_not_a_byte_of_it_is_changed(outcome, name):
    assert outcome["after"][name] == outcome["before"][name]


def test_the_bytes_are_compared_for_real(outcome):
    assert outcome["after"]["written"] != outcome["before"]["written"]


def test_a_node_with_a_refused_device_is_left_alone_as_a_whole(outcome):
    asked = [line.split()[:3] for line in outcome["refused_calls"]]
    assert asked
    assert all(
        words[:2] in (["ceph-volume", "lvm"], ["ceph-bluestore-tool", "show-label"]) for words in asked
    )


def test_the_blank_one_is_accepted_and_only_that_one(outcome):
    assert {*DEVICES} - {*REFUSED} == {"blank"}
    assert outcome["preflight"]["blank"] == []
    assert prepared_table.answers(outcome)["blank"] == ""
    made = [line for line in outcome["made_calls"] if line.startswith("ceph-osd ")]
    assert len(made) == 1
    assert "-i 3 " in made[0]  # the fourth of vanishes, swapped, written, blank
    primed = [line.split()[3] for line in outcome["made_calls"] if "prime-osd-dir" in line]
    assert primed == [outcome["loops"]["blank"]]


@pytest.mark.parametrize("name", USED)
def test_a_used_device_is_never_erased(outcome, name):
    assert outcome["zap_refused"][name] != []


@pytest.mark.parametrize("name", ERASED)
def test_an_erased_device_is_proven_blank(outcome, name):
    assert outcome["zap_refused"][name] == []
    assert outcome["zapped"][name]["reasons"] == []
    assert outcome["zapped"][name]["after"]["state"] == "blank"


def test_the_table_in_the_docs_is_current(outcome):
    assert prepared_table.PAGE.read_text() == prepared_table.page(outcome)
