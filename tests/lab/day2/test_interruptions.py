"""Verbs of day two under load, interrupted in each way and continued by the same command: the table of evidence/day-two.md."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from avadm.operations.cache_masters import ROLE as CACHE_MASTER
from tests.controls.day_two import (
    CUT_OFF,
    INTERRUPTIONS,
    KILLED_AT_RANDOM,
    KILLED_AT_STEPS,
    POWER_OFF,
    UNINTERRUPTED,
)
from tests.lab.conftest import seen
from tests.lab.day2.interruptions import cut_at, killed, killed_at_each_step, moments, power_off_at
from tests.lab.day2.test_disk_replace import OUT_S, a_disk, ceph, devices, osd, placed, recovered, swap
from tests.lab.day2.test_maintenance import NOTHING, begin, marks
from tests.lab.day2.test_node_add_remove import STORAGE, added, gone, good, having, named  # noqa: F401 - a fixture
from tests.lab.faults.drive import avadm, healthy, reachable
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

LOADS = "SKQ"
"""A drain waits for trainings of AVA, which tests of their own do."""
AGAIN_S = 600
"""Time in which a site is again as the verb wants it after a node was without power, seconds."""
TIMEOUT_S = 1800


@dataclass(frozen=True)
class Tried:
    """A verb that is to be interrupted.

    Attributes:
        name: of tests/controls/day_two.py.
        words: its arguments.
        node: the node at work.
        seconds: how long it takes without interruption, about.
        over: words of the refusal by which the same command says that it ended already; "" where it then does nothing.
        settle: waits, before the command runs, until what a kill left is reported.
    """

    name: str
    words: list[str]
    node: str
    seconds: float
    over: str = ""
    settle: Callable[[], None] = lambda: None

    def steps(self):
        """Return the number of its steps."""
        done = avadm(*self.words, "--dry-run", "--json", timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return len(json.loads(done.stdout)["steps"])

    def interrupted(self, lab, at, steps):
        """Run it, interrupt it, and run it again until it has ended."""
        middle = (steps + 1) // 2
        if at == KILLED_AT_STEPS:
            assert killed_at_each_step(self.words, self.settle) >= 2
        elif at == KILLED_AT_RANDOM:
            for moment in moments(self.seconds):
                self.settle()
                killed(self.words, moment)
        elif at == POWER_OFF:
            print(power_off_at(lab, self.words, middle, self.node)[1])
        elif at == CUT_OFF:
            status, text = cut_at(lab, self.words, middle)
            assert status in (0, 1) and "Traceback" not in text, text
        self.settle()
        if at == POWER_OFF:
            until(self.ended, AGAIN_S)
        else:
            assert self.ended()

    def ended(self):
        """Run it; return whether it has ended."""
        done = avadm(*self.words, timeout=TIMEOUT_S)
        text = done.stdout + done.stderr
        assert "Traceback" not in text, text
        if done.returncode:
            print(text)
        return done.returncode == 0 or (self.over and self.over in " ".join(text.split()))


@pytest.fixture
def whole():
    """The lab, well and without temporary settings before and afterwards."""
    lab = seen()
    healthy(lab)
    assert marks(lab) == NOTHING
    yield lab
    for node in lab.nodes:
        reachable(lab, node["name"])
    for one in json.loads(avadm("maintenance", "list", "--json").stdout)["maintenances"]:
        avadm("maintenance", "end", one["name"], "--yes", timeout=TIMEOUT_S)
    if cordoned := marks(lab)["cordoned"]:
        avadm("node", "uncordon", *cordoned)
    ceph(lab, "config rm mon mon_osd_down_out_interval")
    healthy(lab, limit=AGAIN_S)


@pytest.fixture
def under(whole, loads, recorder):
    """Return a function that interrupts a verb under load and records what came of it."""

    def run(tried: Tried, at: str, holds: Callable[[], bool]):
        steps = tried.steps()
        away = [tried.node] if at == POWER_OFF or tried.name.startswith(("node", "maintenance")) else []
        # Requests to a pod, and connections to a primary, whose node has just lost power fail until that is noticed.
        may_fail = {"service", "rows"} if at == POWER_OFF else set()
        with recorder.under(tried.name, at, loads(LOADS, away=away), may_fail=may_fail):
            tried.interrupted(seen(), at, steps)
            assert holds()
        assert avadm("status", "--json").returncode == 0

    return run


@pytest.mark.parametrize("at", INTERRUPTIONS)
def test_a_drain(whole, under, recorder, loads, at):
    lab, node = whole, whole.names("worker")[-1]
    recorder.skip_if_done("node drain", at, loads(LOADS, away=[node]))
    under(
        Tried("node drain", ["node", "drain", node, "--yes"], node, 15.0),
        at,
        lambda: marks(lab)["cordoned"] == {node},
    )
    good("node", "uncordon", node)
    assert marks(lab) == NOTHING


@pytest.mark.parametrize("at", [POWER_OFF])
def test_a_maintenance_begins(whole, under, recorder, loads, at):
    lab, node = whole, whole.names("osd")[-1]
    recorder.skip_if_done("maintenance begin", at, loads(LOADS, away=[node]))
    tried = Tried("maintenance begin", begin(node), node, 15.0, "maintenance-twice")
    under(tried, at, lambda: marks(lab)["noout"] == {node: ["noout"]})
    good("maintenance", "end", node, "--yes")
    assert marks(lab) == NOTHING


@pytest.mark.parametrize("at", [at for at in INTERRUPTIONS if at != UNINTERRUPTED])
def test_a_maintenance_ends(whole, under, recorder, loads, at):
    lab, nodes = whole, [whole.names("osd")[-1], whole.names("worker")[-1]]
    recorder.skip_if_done("maintenance end", at, loads(LOADS, away=nodes))
    good(*begin(*nodes))
    words = ["maintenance", "end", *nodes, "--yes"]
    tried = Tried("maintenance end", words, nodes[0], 15.0, "maintenance-unknown")
    under(tried, at, lambda: marks(lab) == NOTHING)


@pytest.mark.parametrize("at", [at for at in INTERRUPTIONS if at != UNINTERRUPTED])
def test_a_disk_is_replaced(whole, under, recorder, loads, at):
    lab = whole
    node, serial, number = a_disk(lab)
    recorder.skip_if_done("disk replace", at, loads(LOADS, away=[node]))
    before = placed(lab, number)
    ceph(lab, f"config set mon mon_osd_down_out_interval {OUT_S}")
    new = swap(node, serial)
    recovered(lab, number)
    words = ["disk", "replace", node, f"osd.{number}", "--with", f"scsi-AVADM_{new}", "--yes"]

    def settle():
        # After each change of its maps ceph draws no conclusions for a few seconds.
        if not osd(lab, number)["up"]:
            recovered(lab, number)

    tried = Tried("disk replace", words, node, 60.0, settle=settle)
    under(tried, at, lambda: osd(lab, number)["up"] == 1)
    assert placed(lab, number) == before
    assert (new in devices(lab, node), serial in devices(lab, node)) == (True, False)


@pytest.mark.parametrize("at", [at for at in INTERRUPTIONS if at != UNINTERRUPTED])
def test_a_storage_node_comes_and_goes(whole, gone, under, recorder, loads, at):  # noqa: F811
    recorder.skip_if_done("node remove", at, loads(LOADS))
    gone.append(STORAGE)
    words = added(STORAGE, "osd", disks=1)

    def there():
        return bool(seen().sh(whole.names("mon")[0], f"ceph osd ls-tree {STORAGE}").split())

    # Until the site file has it, the load knows nothing of the node.
    under(Tried("node add", words, STORAGE, 150.0, "node-known"), at, there)
    healthy(seen(), limit=AGAIN_S)
    words = ["node", "remove", STORAGE, "--yes"]
    under(
        Tried("node remove", words, STORAGE, 120.0, "no such node"), at, lambda: named(whole, STORAGE) == []
    )
    assert json.loads(good("apply", "--json", "--yes"))["changed"] == 0


@pytest.mark.parametrize("at", INTERRUPTIONS)
def test_a_cache_gets_three_masters_and_one_again(whole, under, recorder, loads, at):
    masters = having(whole, CACHE_MASTER)
    able = [name for name in whole.names("client") if name not in masters]
    if len(masters) != 1 or len(able) < 2:
        pytest.skip("a cache with one master, and two more nodes with the role client")
    names = [*masters, *able[-2:]]
    recorder.skip_if_done("cache masters", at, loads(LOADS))
    words = ["cache", "masters", *names, "--yes"]
    under(
        Tried("cache masters", words, names[-1], 90.0, "cache-masters-known"),
        at,
        lambda: set(having(seen(), CACHE_MASTER)) == set(names),
    )
    good("cache", "masters", *masters, "--yes")
    assert json.loads(good("apply", "--json", "--yes"))["changed"] == 0
