"""Limits of backfill by the hour on the lab: the timers' key, what they set, and what they leave."""

import json
import shlex
from pathlib import Path

import pytest

from avadm.components.ceph.backfill import ENTITY, backfill_caps
from avadm_node.agents import backfill
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

OPTION = "osd_max_backfills"
FOLDER = "/run/avadm-test-backfill"


@pytest.fixture(scope="module")
def mon(lab):
    """A monitor node with the program, and with the key as sites have it; the lab's own site has no limits."""
    name = lab.names("mon")[0]
    source = Path(backfill.__file__).read_text()
    keyring = f"{FOLDER}/keyring"
    lab.sh(name, f"mkdir -p {FOLDER}; printf %s {shlex.quote(source)} > {FOLDER}/program")
    caps = shlex.quote(backfill_caps()["mon"])
    lab.sh(name, f"umask 077; ceph auth get-or-create {ENTITY} mon {caps} > {keyring}")
    yield name
    lab.sh(
        name,
        f"ceph auth rm {ENTITY}; ceph config-key rm avadm/backfill; ceph config rm osd {OPTION}; rm -r {FOLDER}",
    )


@pytest.fixture
def run(lab, mon):
    """A function that runs the program with a limit for all hours; its output."""

    def act(limit, *more):
        config = {"limits": {"max_backfills": limit}, "limits_in_hours": {}, "hours": "", "mclock": False}
        text = shlex.quote(json.dumps(config))
        words = " ".join(more)
        command = f"CEPH_ARGS='--keyring {FOLDER}/keyring' python3 {FOLDER}/program {FOLDER}/config {words}"
        return lab.sh(mon, f"printf %s {text} > {FOLDER}/config; {command}")

    yield act
    act(1, "--withdraw")


def in_force(lab):
    """Return the values that the OSDs of one node run with."""
    node = lab.names("osd")[0]
    ask = f'for s in /var/run/ceph/ceph-osd.*.asok; do ceph --admin-daemon "$s" config get {OPTION}; done'
    text = lab.sh(node, ask)
    return {part.split('"')[1] for part in text.split(f'"{OPTION}":')[1:]}


def test_osds_get_the_limit_and_a_second_run_sets_nothing(lab, run):
    assert f"{OPTION}: 3" in run(3)
    assert run(3) == ""
    until(lambda: in_force(lab) == {"3"}, 30)


def test_a_value_set_by_hand_is_left_until_it_is_removed(lab, mon, run):
    run(3)
    lab.sh(mon, f"ceph config set osd {OPTION} 5")
    assert "by hand" in run(2)
    until(lambda: in_force(lab) == {"5"}, 30)
    lab.sh(mon, f"ceph config rm osd {OPTION}")
    run(2)
    until(lambda: in_force(lab) == {"2"}, 30)


@pytest.mark.parametrize(
    "words",
    [
        "config set osd osd_memory_target 5000000000",
        "config dump",
        "osd set noout",
        "config set osd.0 osd_max_backfills 9",
    ],
)
def test_the_key_may_do_nothing_else(lab, mon, words):
    command = f"ceph --keyring {FOLDER}/keyring --name {ENTITY} {words} 2>&1 || true"
    assert "EACCES" in lab.sh(mon, command)
