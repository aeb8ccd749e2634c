"""The probe as nodes run it, with stubs of systemctl, dpkg-query and ceph in its PATH: each kind of drift is found."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from avadm.engine.fingerprint import Asker
from avadm.runner.fleet import Result


def works(python: str) -> bool:
    found = shutil.which(python)
    return (
        found is not None
        and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
    )


INTERPRETERS = [sys.executable, *filter(works, ["python2.7"])]
STUB = '#!/bin/sh\ncat "{state}/{name}"\n'
CEPH = '#!/bin/sh\nshift 2\ncat "{state}/ceph $*"\n'


class Node:
    """A node whose state the test writes; runs the probe in a process of its own."""

    def __init__(self, folder: Path, python: str) -> None:
        self.state, self.python = folder, python
        (folder / "bin").mkdir()
        for name, text in (("systemctl", STUB), ("dpkg-query", STUB), ("ceph", CEPH)):
            path = folder / "bin" / name
            path.write_text(text.format(state=folder, name=name))
            path.chmod(0o755)
        self.unit()
        self.package("1.0")
        self.ceph()

    def write(self, name: str, text: str) -> None:
        (self.state / f"{name}.new").write_text(text)
        (self.state / f"{name}.new").rename(self.state / name)

    def unit(
        self, active: str = "active", enabled: str = "enabled", reload: str = "no", started: int = 10**18
    ) -> None:
        self.write(
            "systemctl",
            f"MainPID=0\nExecMainStartTimestampMonotonic={started}\nLoadState=loaded\nActiveState={active}\n"
            f"UnitFileState={enabled}\nNeedDaemonReload={reload}\n",
        )

    def package(self, version: str, status: str = "ii ") -> None:
        self.write("dpkg-query", f"{status}\tprog\tamd64\t{version}\tvirtual (= 1)\n")

    def ceph(
        self, size: int = 2, pg_num: int = 8, caps: str = "allow r", key: str = "SECRET", health: Any = None
    ) -> None:
        pool = {"pool": 1, "pool_name": "p", "size": size, "min_size": 1, "pg_num": pg_num, "crush_rule": 0}
        said = {
            "osd dump": {"pools": [{**pool, "application_metadata": {"rbd": {}}}]},
            "osd crush rule dump": [{"rule_id": 0, "rule_name": "r", "steps": [1]}],
            "auth ls": {"auth_dump": [{"entity": "client.a", "key": key, "caps": {"mon": caps}}]},
            "status": {
                "health": {"checks": health or {}},
                "osdmap": {"num_up_osds": 3, "num_in_osds": 3},
                "mgrmap": {"available": True},
                "pgmap": {},
            },
        }
        for words, data in said.items():
            self.write(f"ceph {words}", json.dumps(data))

    def run(self, node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None) -> Result:
        env = {**os.environ, "PATH": f"{self.state / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run([self.python, "-"], input=stdin, env=env, capture_output=True, check=False)
        return Result(node, command, done.returncode, done.stdout.decode(), done.stderr.decode(), 0, 0)


@pytest.fixture(params=INTERPRETERS, ids=lambda p: Path(p).name)
def node(tmp_path: Path, request: pytest.FixtureRequest) -> Node:
    return Node(tmp_path, request.param)


@pytest.fixture
def ask(node: Node) -> Callable[..., dict[str, str]]:
    class Profile:
        python = "python"

    class Site:
        profile = Profile()

        @property
        def site(self) -> Any:
            return self

        def with_role(self, role: str) -> list[Any]:
            return []

    asker = Asker(Site(), node, "salt")  # type: ignore[arg-type]

    def ask(*items: str) -> dict[str, str]:
        answers = asker.ask({"n": items})
        assert not answers.silent
        return answers.values["n"]

    return ask


Ask = Callable[..., dict[str, str]]


def test_a_file_s_content_mode_and_absence_are_seen(node: Node, ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "conf"
    path.write_text("a")
    item = f"file {path}"
    first = ask(item)[item]
    assert first == ask(item)[item]
    assert " 0644 " in first
    path.chmod(0o600)
    assert " 0600 " in ask(item)[item]
    path.chmod(0o644)
    path.write_text("b")
    assert ask(item)[item].split()[0] != first.split()[0]
    path.unlink()
    assert ask(item)[item] == "!absent"


def test_a_value_says_nothing_of_a_secret(node: Node, ask: Ask, tmp_path: Path) -> None:
    import hashlib

    (tmp_path / "key").write_text("SECRET")
    said = " ".join(ask(f"file {tmp_path / 'key'}", "entity client.a").values())
    assert "SECRET" not in said
    assert hashlib.sha256(b"SECRET").hexdigest()[:32] not in said


def test_another_shell_of_a_login_and_its_absence_are_seen(node: Node, ask: Ask) -> None:
    assert ask("login root")["login root"].startswith("root /")
    assert ask("login no-such-login")["login no-such-login"] == "!absent"


def test_a_stopped_and_a_disabled_unit_are_wrong(node: Node, ask: Ask) -> None:
    assert ask("unit d")["unit d"] == "active enabled"
    node.unit(active="inactive")
    assert ask("unit d")["unit d"] == "!inactive enabled"
    node.unit(enabled="disabled")
    assert ask("unit d")["unit d"] == "!active disabled"
    node.unit(reload="yes")
    assert ask("unit d")["unit d"].startswith("!active enabled, its file changed")


def test_a_unit_that_was_to_be_stopped_and_runs_is_wrong(node: Node, ask: Ask) -> None:
    assert ask("stopped d")["stopped d"] == "!runs"
    node.unit(active="inactive")
    assert ask("stopped d")["stopped d"] == "stopped"


def test_a_file_newer_than_what_runs_is_wrong(node: Node, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "conf").touch()
    item = f"restart d {tmp_path / 'conf'}"
    assert ask(item)[item] == "read"
    node.unit(started=1)
    assert ask(item)[item] == "!newer than what runs"


def test_another_version_of_a_package_is_seen(node: Node, ask: Ask) -> None:
    assert ask("package prog", "package virtual") == {"package prog": "1.0", "package virtual": "prog 1.0"}
    node.package("1.1")
    assert ask("package prog")["package prog"] == "1.1"
    node.package("1.1", "rc ")
    assert ask("package prog")["package prog"] == "!not installed"


def test_a_pool_s_size_and_groups_are_seen(node: Node, ask: Ask) -> None:
    first = ask("pool p", "rule r")
    assert first["pool p"] == "size 2, min_size 1, pg_num 8, autoscale off, rule r, for rbd"
    node.ceph(size=3)
    assert "size 3" in ask("pool p")["pool p"]
    assert ask("rule r")["rule r"] == first["rule r"]
    assert ask("pool other")["pool other"] == "!absent"


def test_other_caps_and_another_key_are_seen(node: Node, ask: Ask) -> None:
    first = ask("entity client.a")["entity client.a"]
    assert first.endswith("caps mon 'allow r'")
    node.ceph(caps="allow *")
    assert ask("entity client.a")["entity client.a"] == first.replace("allow r", "allow *")
    node.ceph(key="OTHER")
    assert ask("entity client.a")["entity client.a"] != first


def test_health_is_judged_as_the_phases_judge_it(node: Node, ask: Ask) -> None:
    assert ask("health 3")["health 3"] == "healthy"
    assert ask("health 4")["health 4"] == "!3 of 4 OSDs are up and in"
    node.ceph(health={"POOL_X": {"summary": {"message": "bad"}}})
    assert ask("health 3")["health 3"] == "!POOL_X (bad)"
    assert ask("health 3 POOL_X")["health 3 POOL_X"] == "healthy"
    node.ceph(health={"OBJECT_MISPLACED": {"summary": {"message": "13.2: 5/10 objects misplaced"}}})
    assert ask("health 3")["health 3"] == "healthy"


def test_a_bucket_s_owner_versions_and_policy_are_seen(node: Node, ask: Ask) -> None:
    program = node.state / "bin" / "radosgw-admin"
    program.write_text(STUB.format(state=node.state, name="bucket"))
    program.chmod(0o755)

    def bucket(policy: str = "", owner: str = "ai") -> str:
        attrs = [{"key": "user.rgw.acl", "val": "a"}, {"key": "user.rgw.iam-policy", "val": policy}]
        data = {"owner": owner, "bucket": {"bucket_id": "1"}, "bucket_info": {"flags": 2}}
        node.write("bucket", json.dumps({"data": {**data, "attrs": attrs if policy else attrs[:1]}}))
        return ask("s3bucket data")["s3bucket data"]

    assert bucket() == "owner ai, versions kept, policy none"
    assert bucket("one") == bucket("one")
    assert len({bucket(), bucket("one"), bucket("other"), bucket("one", "eve")}) == 4


def test_labels_and_taints_of_avadm_s_own_are_seen_and_others_not(node: Node, ask: Ask) -> None:
    kept = {"labels": ["rack"], "taints": ["nvidia.com/gpu:NoSchedule"]}
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}

    def kubernetes(labels: dict[str, str], *taints: dict[str, str]) -> str:
        meta = {"labels": labels, "annotations": {"avadm.io/kept": json.dumps(kept)}}
        node.write("kubectl", json.dumps({"metadata": meta, "spec": {"taints": taints} if taints else {}}))
        return ask("labels /k n")["labels /k n"]

    assert ask("labels /k n")["labels /k n"].startswith("!cannot be told")
    program = node.state / "bin" / "kubectl"
    program.write_text(STUB.format(state=node.state, name="kubectl"))
    program.chmod(0o755)
    first = kubernetes({"rack": "r1"}, taint)
    assert kubernetes({"rack": "r1", "theirs": "1"}, taint, {"key": "k", "effect": "NoExecute"}) == first
    assert (
        len({first, kubernetes({"rack": "r2"}, taint), kubernetes({}, taint), kubernetes({"rack": "r1"})})
        == 4
    )


def test_what_cannot_be_told_is_wrong_and_never_taken_for_unchanged(node: Node, ask: Ask) -> None:
    (node.state / "ceph osd dump").unlink()
    assert ask("pool p")["pool p"].startswith("!cannot be told")
    assert ask("nonsense x")["nonsense x"].startswith("!cannot be told")
