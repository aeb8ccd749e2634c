"""`avadm upgrade ceph` on the lab: refused, killed and continued under load. It leaves ceph 18.2 and another Python on the nodes.

Not run yet; the command was, without load. It comes last of day two: nothing takes ceph back.
"""

import json
import signal
import time

import pytest

from avadm.site.load import load
from tests.lab.day2.test_upgrade import ONE_HOME, TIMEOUT_S, differing, good, packages
from tests.lab.faults.drive import avadm, healthy, start, unchanged
from tests.lab.faults.work import Work

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

TO = "lab-bookworm-ceph-18"
UPGRADE = ("upgrade", "ceph", "--to", TO, *ONE_HOME)
LONGEST_S = 3 * TIMEOUT_S
PAUSE_S = 30
"""Longest pause of cephfs, seconds; rbd and S3 are asked by the day's loads."""
CEPH_ROLES = {"mon", "mgr", "osd", "mds", "rgw", "client"}


def ceph(lab, *words):
    return json.loads(lab.sh(lab.names("mon")[0], f"ceph {' '.join(words)} -f json"))


def releases(lab):
    return {name.split()[2].rpartition(".")[0] for name in ceph(lab, "versions")["overall"]}


def refused(*more):
    done = avadm(*UPGRADE, "--dry-run", "--json", *more, timeout=TIMEOUT_S)
    return done, json.loads(done.stdout)


@pytest.fixture(scope="module")
def needs_16(lab):
    if not lab.names("mon") or load(lab.site_path).profile.versions["ceph"] != "16.2.":
        pytest.skip("this lab has no ceph 16.2")


def test_a_pool_without_a_spare_copy_is_refused_and_nothing_changes(lab, needs_16):
    pool = ceph(lab, "osd", "pool", "ls", "detail")[-1]
    name = pool["pool_name"]
    lab.sh(lab.names("mon")[0], f"ceph osd pool set {name} min_size {pool['size']}")
    try:
        done, plan = refused()
    finally:
        lab.sh(lab.names("mon")[0], f"ceph osd pool set {name} min_size {pool['min_size']}")
    assert done.returncode == 2, done.stdout + done.stderr
    assert [f["check"] for f in plan["refused"] if f["where"] == name] == ["upgrade-pool-copies"]
    assert releases(lab) == {"16.2"}


def test_patroni_comes_first(lab, needs_16):
    if not lab.names("database"):
        pytest.skip("this lab has no database")
    done, plan = refused()
    if done.returncode == 0:
        pytest.skip("Patroni 4 runs already")
    assert {f["check"] for f in plan["refused"]} == {"upgrade-first"}
    good("upgrade", "postgresql", "--to", "lab-bookworm-newer", "--yes")
    assert refused()[0].returncode == 0


def test_ceph_is_killed_at_each_kind_of_step_and_continued_under_load(lab, needs_16, tried):
    row = tried(
        "ceph upgraded 16.2 → 18.2",
        "kill -9 at a monitor, an OSD host, a metadata server and a client",
        "continued; no acknowledged write lost; max_mds and noout as before",
    )
    before = {n["name"]: packages(lab, n["name"]) for n in lab.nodes}
    ranks = ceph(lab, "fs", "dump")["filesystems"][0]["mdsmap"]["max_mds"]
    begun, work = time.monotonic(), Work(lab, 240)
    with work.running():
        for word in ("monitor on", "OSDs of", "metadata server on", "client on"):
            running = start(*UPGRADE, "--yes")
            for line in running.stdout:
                if f"upgrade the {word}" in line and "done already" not in line:
                    break
            time.sleep(5)
            running.send_signal(signal.SIGKILL)
            running.wait(60)
            blocked = avadm("apply", "ceph", timeout=TIMEOUT_S)
            assert blocked.returncode != 0 and "avadm upgrade ceph" in " ".join(
                blocked.stdout.split() + blocked.stderr.split()
            )
        done = avadm(*UPGRADE, "--yes", timeout=LONGEST_S)
        assert done.returncode == 0, done.stdout + done.stderr
    words = work.compare()
    assert work.longest_pause() <= PAUSE_S, work.longest_pause()
    assert releases(lab) == {"18.2"}
    dump = ceph(lab, "osd", "dump")
    assert (dump["require_osd_release"], dump["crush_node_flags"]) == ("reef", {})
    assert ceph(lab, "fs", "dump")["filesystems"][0]["mdsmap"]["max_mds"] == ranks
    with_ceph = {n["name"] for n in lab.nodes if CEPH_ROLES & set(n["roles"])}
    changed = {n: differing(before[n], packages(lab, n)) for n in before}
    assert {n for n, names in changed.items() if names} == with_ceph
    assert not any(
        p.startswith(("systemd", "postgresql-15", "docker")) for names in changed.values() for p in names
    )
    longest = work.longest_pause()
    row.came = f"{time.monotonic() - begun:.0f} s; {words}; longest pause {longest:.1f} s; HEALTH_OK after {healthy(lab):.0f} s"


def test_all_roles_run_under_the_new_python(lab):
    if releases(lab) != {"18.2"}:
        pytest.skip("ceph was not upgraded")
    good(*UPGRADE, "--yes")
    good("apply", "--full", "--yes")
    assert unchanged(lab)
    assert load(lab.site_path).profile.versions["ceph"] == "18.2."


def test_metrics_of_ceph_are_served_by_the_new_manager(lab):
    if releases(lab) != {"18.2"}:
        pytest.skip("ceph was not upgraded")
    active = ceph(lab, "mgr", "dump")["active_name"]
    assert "ceph_health_status" in lab.sh(active, "curl --silent --noproxy '*' http://127.0.0.1:9283/metrics")
