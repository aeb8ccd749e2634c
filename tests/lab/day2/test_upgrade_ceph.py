"""`avadm upgrade ceph` on the lab: refused, killed and continued under load. It leaves another ceph and Python on the nodes.

It comes last of day two: nothing takes ceph back. The default lab goes from 16.2 to 18.2, one on Debian 11 from 14.2 to 16.2.
"""

import json
from dataclasses import dataclass

import pytest

from avadm.site.load import load
from tests.controls.day_two import KILLED_AT_STEPS
from tests.lab.day2.interruptions import killed_at_each_step
from tests.lab.day2.test_upgrade import ONE_HOME, TIMEOUT_S, differing, good, packages
from tests.lab.faults.drive import avadm, healthy, unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

VERB = "upgrade ceph"
CEPH_ROLES = {"mon", "mgr", "osd", "mds", "rgw", "client"}


def ceph(lab, *words):
    return json.loads(lab.sh(lab.names("mon")[0], f"ceph {' '.join(words)} -f json"))


@dataclass(frozen=True)
class Way:
    """A step from one release to another: the profile, and what the cluster reports before and afterwards."""

    to: str
    old: str
    new: str
    required: str


WAYS = (
    Way("lab-bookworm-ceph-18", "16.2", "18.2", "reef"),
    Way("lab-bullseye-ceph-16", "14.2", "16.2", "pacific"),
)


def releases(lab):
    return {name.split()[2].rpartition(".")[0] for name in ceph(lab, "versions")["overall"]}


def refused(words):
    done = avadm(*words, "--dry-run", "--json", timeout=TIMEOUT_S)
    return done, json.loads(done.stdout)


@pytest.fixture(scope="module")
def way(lab):
    """The step that this lab can take, or has taken."""
    release = load(lab.site_path).site.profile.split("-")[:2] if lab.names("mon") else []
    return next((one for one in WAYS if one.to.split("-")[:2] == release), None) or pytest.skip(
        "no ceph here"
    )


@pytest.fixture(scope="module")
def before(lab, way):
    """The step, not yet taken."""
    if releases(lab) != {way.old}:
        pytest.skip("ceph was upgraded")
    return way


@pytest.fixture(scope="module")
def words(lab, way, drains):
    """The command; runs that other tests or users left end at once."""
    return (*VERB.split(), "--to", way.to, *(ONE_HOME if lab.names("master") else ()), *drains)


def test_a_pool_without_a_spare_copy_is_refused_and_nothing_changes(lab, before, words):
    pool = ceph(lab, "osd", "pool", "ls", "detail")[-1]
    name = pool["pool_name"]
    lab.sh(lab.names("mon")[0], f"ceph osd pool set {name} min_size {pool['size']}")
    try:
        done, plan = refused(words)
    finally:
        lab.sh(lab.names("mon")[0], f"ceph osd pool set {name} min_size {pool['min_size']}")
    assert done.returncode == 2, done.stdout + done.stderr
    assert [f["check"] for f in plan["refused"] if f["where"] == name] == ["upgrade-pool-copies"]
    assert releases(lab) == {before.old}


def test_patroni_comes_first(lab, before, words):
    if not lab.names("database"):
        pytest.skip("this lab has no database")
    done, plan = refused(words)
    if done.returncode == 0:
        pytest.skip("Patroni 4 runs already")
    assert {f["check"] for f in plan["refused"]} == {"upgrade-first"}
    good("upgrade", "postgresql", "--to", "lab-bookworm-newer", "--yes")
    assert refused(words)[0].returncode == 0


def test_it_is_killed_at_each_step_and_continued_under_load(lab, before, words, loads, recorder):
    others, storage = loads("KQ"), loads("S")
    recorder.skip_if_done(VERB, KILLED_AT_STEPS, [*others, *storage])
    had = {n["name"]: packages(lab, n["name"]) for n in lab.nodes}
    ranks = ceph(lab, "fs", "dump")["filesystems"][0]["mdsmap"]["max_mds"]
    command = [*words, "--yes"]
    clients = set(lab.names("client"))
    steps = json.loads(good(*words, "--dry-run", "--json"))["steps"]
    first = next(step["name"] for step in steps if clients & set(step["nodes"]))
    with recorder.under(VERB, KILLED_AT_STEPS, others):
        # A mount in use is never taken away: users of the storage leave before the clients' turn.
        with recorder.under(VERB, KILLED_AT_STEPS, storage):
            servers = killed_at_each_step(command, last=first)
            assert servers > len(lab.names("mon"))
            blocked = avadm("apply", "ceph", timeout=TIMEOUT_S)
            assert blocked.returncode == 2
            assert "avadm upgrade ceph" in " ".join(blocked.stderr.split())
        assert killed_at_each_step(command, first=servers) >= len(clients)
        good(*command)
    assert releases(lab) == {before.new}
    dump = ceph(lab, "osd", "dump")
    assert (dump["require_osd_release"], dump["crush_node_flags"]) == (before.required, {})
    assert ceph(lab, "fs", "dump")["filesystems"][0]["mdsmap"]["max_mds"] == ranks
    with_ceph = {n["name"] for n in lab.nodes if CEPH_ROLES & set(n["roles"])}
    changed = {n: differing(had[n], packages(lab, n)) for n in had}
    assert {n for n, names in changed.items() if names} == with_ceph
    assert not any(
        p.startswith(("systemd", "postgresql-15", "docker")) for names in changed.values() for p in names
    )
    healthy(lab)


@pytest.fixture
def after(lab, way):
    """The step, taken."""
    if releases(lab) != {way.new}:
        pytest.skip("ceph was not upgraded")
    return way


def test_all_roles_run_under_the_new_python(lab, after, words):
    good(*words, "--yes")
    good("apply", "--full", "--yes")
    assert unchanged(lab)
    assert load(lab.site_path).profile.versions["ceph"] == f"{after.new}."


def test_metrics_of_ceph_are_served_by_the_new_manager(lab, after):
    active = ceph(lab, "mgr", "dump")["active_name"]
    assert "ceph_health_status" in lab.sh(active, "curl --silent --noproxy '*' http://127.0.0.1:9283/metrics")
