"""The probe as nodes run it, with stubs of systemctl, dpkg-query and ceph in its PATH: each kind of drift is found."""

import hashlib
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from avadm.drift.collector import Collector
from avadm.remote.fleet import Result
from tests.unit.fakes.running import sh, stub


def works(python):
    return shutil.which(python) and sh(python, "-c", "").returncode == 0


INTERPRETERS = [sys.executable, *filter(works, ["python2.7"])]


class Node:
    """A node whose state the test writes; runs the probe in a process of its own."""

    def __init__(self, folder, python):
        self.state, self.python = folder, python
        for name in ("systemctl", "dpkg-query"):
            self.program(name)
        self.env = stub(folder / "bin/ceph", f'shift 2\ncat "{folder}/ceph $*"')
        self.unit()
        self.package("1.0")
        self.ceph()

    def program(self, name):
        """Have a program that says what the test writes under its name."""
        stub(self.state / "bin" / name, f'cat "{self.state}/{name}"')

    def write(self, name, text):
        (self.state / f"{name}.new").write_text(text)
        (self.state / f"{name}.new").rename(self.state / name)

    def unit(self, active="active", enabled="enabled", reload="no", started=10**18):
        self.write(
            "systemctl",
            f"MainPID=0\nExecMainStartTimestampMonotonic={started}\nLoadState=loaded\nActiveState={active}\n"
            f"UnitFileState={enabled}\nNeedDaemonReload={reload}\n",
        )

    def package(self, version, status="ii "):
        self.write("dpkg-query", f"{status}\tprog\tamd64\t{version}\tvirtual (= 1)\n")

    def ceph(self, size=2, pg_num=8, caps="allow r", key="SECRET", health=None, options=()):
        pool = {"pool": 1, "pool_name": "p", "size": size, "min_size": 1, "pg_num": pg_num, "crush_rule": 0}
        report = {
            "osd dump": {"pools": [{**pool, "application_metadata": {"rbd": {}}}]},
            "osd crush rule dump": [{"rule_id": 0, "rule_name": "r", "steps": [1]}],
            "auth ls": {"auth_dump": [{"entity": "client.a", "key": key, "caps": {"mon": caps}}]},
            "config dump": [{"section": who, "mask": "", "name": n, "value": v} for who, n, v in options],
            "status": {
                "health": {"checks": health or {}},
                "osdmap": {"num_up_osds": 3, "num_in_osds": 3},
                "mgrmap": {"available": True},
                "pgmap": {},
            },
        }
        for words, data in report.items():
            self.write(f"ceph {words}", json.dumps(data))

    def run(self, node, command, *, timeout=60.0, stdin=None):
        done = sh(self.python, "-", input=stdin.decode(), env=self.env)
        return Result(node, command, done.returncode, done.stdout, done.stderr, 0, 0)


@pytest.fixture(params=INTERPRETERS, ids=lambda p: Path(p).name)
def node(tmp_path, request):
    return Node(tmp_path, request.param)


@pytest.fixture
def see(node):
    """Return a function: the value of an item, or of several."""
    site = SimpleNamespace(with_role=lambda role: [])
    asker = Collector(SimpleNamespace(profile=SimpleNamespace(python="python"), site=site), node, "salt")

    def see(*items):
        answers = asker.ask({"n": items})
        assert not answers.silent
        values = answers.values["n"]
        return values[items[0]] if len(items) == 1 else [values[item] for item in items]

    return see


def test_a_file_s_content_mode_and_absence_are_seen(see, tmp_path):
    path = tmp_path / "conf"
    path.write_text("a")
    item = f"file {path}"
    first = see(item)
    assert first == see(item)
    assert " 0644 " in first
    path.chmod(0o600)
    assert " 0600 " in see(item)
    path.chmod(0o644)
    path.write_text("b")
    assert see(item).split()[0] != first.split()[0]
    path.unlink()
    assert see(item) == "!absent"


def test_a_value_says_nothing_of_a_secret(see, tmp_path):
    (tmp_path / "key").write_text("SECRET")
    text = " ".join(see(f"file {tmp_path / 'key'}", "entity client.a"))
    assert "SECRET" not in text
    assert hashlib.sha256(b"SECRET").hexdigest()[:32] not in text


def test_another_shell_of_a_login_and_its_absence_are_seen(see):
    assert see("login root").startswith("root /")
    assert see("login no-such-login") == "!absent"


def test_a_stopped_and_a_disabled_unit_are_wrong(node, see):
    assert see("unit d") == "active enabled"
    node.unit(active="inactive")
    assert see("unit d") == "!inactive enabled"
    node.unit(enabled="disabled")
    assert see("unit d") == "!active disabled"
    node.unit(reload="yes")
    assert see("unit d").startswith("!active enabled, its file changed")


def test_a_unit_that_was_to_be_stopped_and_runs_is_wrong(node, see):
    assert see("stopped d") == "!runs"
    node.unit(active="inactive")
    assert see("stopped d") == "stopped"


@pytest.mark.parametrize(
    ("loaded", "same", "value"),
    [(True, True, "as kept"), (True, False, "!not the rules that were kept"), (False, False, "!no rules")],
)
def test_a_packet_filter_that_is_off_or_other_than_it_was_kept_is_wrong(node, see, loaded, same, value):
    item = f"filter {node.state / 'bin/filter'}"
    assert see(item).startswith("!unknown")
    node.program("filter")
    node.write("filter", json.dumps({"loaded": loaded, "same": same}))
    assert see(item) == value


def test_a_file_newer_than_what_runs_is_wrong(node, see, tmp_path):
    (tmp_path / "conf").touch()
    item = f"restart d {tmp_path / 'conf'}"
    assert see(item) == "read"
    node.unit(started=1)
    assert see(item) == "!newer than what runs"


def test_another_version_of_a_package_is_seen(node, see):
    assert see("package prog", "package virtual") == ["1.0", "prog 1.0"]
    node.package("1.1")
    assert see("package prog") == "1.1"
    node.package("1.1", "rc ")
    assert see("package prog") == "!not installed"


def test_a_pool_s_size_and_groups_are_seen(node, see):
    pool, rule = see("pool p", "rule r")
    assert pool == "size 2, min_size 1, pg_num 8, autoscale off, rule r, for rbd"
    node.ceph(size=3)
    assert "size 3" in see("pool p")
    assert see("rule r") == rule
    assert see("pool other") == "!absent"


def test_other_caps_and_another_key_are_seen(node, see):
    first = see("entity client.a")
    assert first.endswith("caps mon 'allow r'")
    node.ceph(caps="allow *")
    assert see("entity client.a") == first.replace("allow r", "allow *")
    node.ceph(key="OTHER")
    assert see("entity client.a") != first


def test_options_that_change_with_the_hour_are_no_drift_and_others_are(node, see):
    node.ceph(options=[("osd", "osd_max_backfills", "1")])
    first = see("config all")
    node.ceph(options=[("osd", "osd_max_backfills", "4"), ("osd", "osd_recovery_sleep", "0.1")])
    assert see("config all") == first
    node.ceph(options=[("osd.3", "osd_max_backfills", "4")])
    assert see("config all") != first
    node.ceph(options=[("osd", "osd_memory_target", "4")])
    assert see("config all") != first


def test_health_is_judged_as_the_phases_judge_it(node, see):
    assert see("health 3") == "healthy"
    assert see("health 4") == "!3 of 4 OSDs are up and in"
    node.ceph(health={"MON_DISK_LOW": {"summary": {"message": "low"}}})
    assert see("health 3") == "healthy but for MON_DISK_LOW (low)"
    assert see("health 3 MON_DISK_LOW") == "healthy"
    node.ceph(health={"OSD_FULL": {"summary": {"message": "full"}}})
    assert see("health 3") == "!OSD_FULL (full)"
    node.ceph(health={"OSDMAP_FLAGS": {"summary": {"message": "noscrub,pausewr flag(s) set"}}})
    assert see("health 3") == "!OSDMAP_FLAGS (noscrub,pausewr flag(s) set)"
    node.ceph(health={"OBJECT_MISPLACED": {"summary": {"message": "13.2: 5/10 objects misplaced"}}})
    assert see("health 3") == "healthy"


def test_a_bucket_s_owner_versions_and_policy_are_seen(node, see):
    node.program("radosgw-admin")

    def bucket(policy="", owner="ai"):
        attrs = [{"key": "user.rgw.acl", "val": "a"}, {"key": "user.rgw.iam-policy", "val": policy}]
        data = {"owner": owner, "bucket": {"bucket_id": "1"}, "bucket_info": {"flags": 2}}
        node.write("radosgw-admin", json.dumps({"data": {**data, "attrs": attrs if policy else attrs[:1]}}))
        return see("s3bucket data")

    assert bucket() == "owner ai, versions kept, policy none"
    assert bucket("one") == bucket("one")
    assert len({bucket(), bucket("one"), bucket("other"), bucket("one", "eve")}) == 4


def test_labels_and_taints_of_avadm_s_own_are_seen_and_others_not(node, see):
    kept = {"labels": ["rack"], "taints": ["nvidia.com/gpu:NoSchedule"]}
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}

    def kubernetes(labels, *taints):
        meta = {"labels": labels, "annotations": {"avadm.io/kept": json.dumps(kept)}}
        node.write("kubectl", json.dumps({"metadata": meta, "spec": {"taints": taints} if taints else {}}))
        return see("labels /k n")

    assert see("labels /k n").startswith("!unknown")
    node.program("kubectl")
    first = kubernetes({"rack": "r1"}, taint)
    assert kubernetes({"rack": "r1", "theirs": "1"}, taint, {"key": "k", "effect": "NoExecute"}) == first
    others = [kubernetes({"rack": "r2"}, taint), kubernetes({}, taint), kubernetes({"rack": "r1"})]
    assert len({first, *others}) == 4


def test_what_is_unknown_is_wrong_and_never_taken_for_unchanged(node, see):
    (node.state / "ceph osd dump").unlink()
    assert see("pool p").startswith("!unknown")
    assert see("nonsense x").startswith("!unknown")
