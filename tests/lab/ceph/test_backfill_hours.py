"""Limits of backfill by the hour on the lab: the timers' key, what they set, and what they leave."""

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from avadm.components.ceph.backfill import ENTITY, backfill_caps
from avadm_node.agents import backfill
from tests.lab.faults.drive import avadm, edit_site
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


def test_the_sites_limits_come_by_the_timer_and_go_with_the_site_files(lab):
    """By the site file, `apply` and the timer, in the hours of now and outside them."""
    hour = datetime.now(UTC).hour
    hours = f"{hour:02}:00-{(hour + 2) % 24:02}:00"

    def change(inside, outside):
        limits = {
            "limits": {"max_backfills": outside},
            "limits_in_hours": {"max_backfills": inside},
            "hours": hours,
        }
        return lambda data: data["components"].setdefault("ceph", {}).update(backfill=limits)

    def applied():
        done = avadm("apply", "ceph", timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr

    usual = in_force(lab)
    before = edit_site(lab, change(4, 2))
    try:
        applied()
        until(lambda: in_force(lab) == {"4"}, 120)
        done = avadm("doctor", "--only", "ceph-backfill-limits", "--json", timeout=300)
        assert {row["status"] for row in json.loads(done.stdout)["checks"]} == {"ok"}, done.stdout
        hours = f"{(hour + 3) % 24:02}:00-{(hour + 4) % 24:02}:00"
        lab.site_path.write_text(before)
        edit_site(lab, change(4, 2))
        applied()
        # Its timer fires every five minutes.
        until(lambda: in_force(lab) == {"2"}, 360)
    finally:
        lab.site_path.write_text(before)
        applied()
    until(lambda: in_force(lab) == usual, 120)
    assert ENTITY not in lab.sh(lab.names("mon")[0], "ceph auth ls 2>/dev/null")
