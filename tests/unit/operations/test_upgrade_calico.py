"""`avadm upgrade calico`: masters first, then the others in batches, none drained; refused early, taken back, continued."""

from __future__ import annotations

import pytest

from avadm.catalogue import finding
from avadm.operations import upgrade as module
from avadm.operations import upgrade_calico
from avadm.operations.upgrade_calico import CONTROLLERS, NODE, age
from avadm.operations.upgrade_kubernetes_nodes import NODES, Kubelet
from avadm.state.site_state import PhaseState
from tests.unit.operations.test_upgrade_kubernetes import EVERY, MASTERS, SITE, WORKERS, FakeKubernetes

OLD, NEW = "20250813-a0db560f0520", "3.31.0"
TO = "lab-bookworm-calico-3.31"


class FakeCalico(FakeKubernetes):
    """Nodes with Calico: the phase `nodes` changes its version."""

    program = NODE

    def __init__(self, path):
        super().__init__(path)
        self.agent, self.controller = dict.fromkeys(EVERY, OLD), dict.fromkeys(MASTERS, OLD)

    def running(self, program, names):
        own = {NODE: self.agent, CONTROLLERS: self.controller}[program]
        return {name: own[name] for name in names}

    def _set(self, phase, name, version):
        self.agent[name] = version
        if name in MASTERS:
            self.controller[name] = version
        self.agents[name] = Kubelet(bool(version) and (name, version) not in self.sick, "1.10.13")

    def plan(self, *accepted):
        own = {"calico": lambda asked: upgrade_calico.plan(asked, lambda cluster: self)}
        return module.build(["calico"], TO, lambda cluster: None, own, accepted)(self.cluster)


@pytest.fixture
def calico(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.yml").write_text(SITE)
    fake = FakeCalico(tmp_path / "site.yml")
    fake.cluster.state.start(NODES, dict.fromkeys(EVERY, "d"), "r")
    fake.cluster.state.finish(NODES, dict.fromkeys(EVERY, PhaseState.DONE))
    return fake


def test_a_snapshot_of_a_day_is_older_than_a_release():
    assert age(OLD) < age("3.31.0") < age("3.31.1") < age("3.32.0")


def test_masters_come_first_and_nothing_is_drained(calico):
    plan = calico.plan()
    assert plan.refusals == [] and plan.components == {"nodes"}
    assert f"w1: calico {OLD} → {NEW}" in plan.packages
    calico.run()
    assert calico.did == [(NODES, (n,), NEW) for n in EVERY]
    assert len(calico.snapshots) == 1
    assert set(calico.agent.values()) == set(calico.controller.values()) == {NEW}
    calico.reload()
    assert calico.site_file.site.component_profiles == {"calico": TO}


def test_a_second_run_changes_nothing(calico):
    calico.run()
    calico.reload()
    calico.did.clear()
    assert calico.plan().interrupts == []
    calico.run()
    assert calico.did == []


@pytest.mark.parametrize("planted", ["fails", "sick"])
def test_a_node_that_fails_gets_the_former_version_back_and_the_next_is_not_begun(calico, planted):
    if planted == "fails":
        calico.fails = {(NODES, "w2", NEW)}
    else:
        calico.sick = {("w2", NEW): 0}
    calico.failed()
    assert calico.did[-2:] == [(NODES, ("w2",), NEW), (NODES, ("w2",), OLD)]
    assert (calico.agent["w1"], calico.agent["w2"], calico.agent["w3"]) == (NEW, OLD, OLD)


def test_a_command_that_was_killed_is_continued(calico):
    calico.kill = (NODES, "w1")
    with pytest.raises(KeyboardInterrupt):
        calico.run()
    calico.reload()
    calico.did.clear()
    assert calico.codes() == [], "what it left at its node speaks against nothing"
    calico.run()
    assert calico.did == [(NODES, (n,), NEW) for n in WORKERS]


def test_all_that_speaks_against_it_is_named_in_one_pass(calico):
    calico.lacking = [(NEW, finding("artifact-missing", title="calico", names="m1", state="absent"))]
    calico.agents["w2"] = Kubelet(False, "1.10.13")
    calico.agent["w1"], calico.agent["w3"] = "3.32.0", ""
    calico.etcd_bad = {"m2": "no leader"}
    wanted = [
        "artifact-missing",
        "upgrade-downgrade",
        "upgrade-mixed-versions",
        "upgrade-node-away",
        "upgrade-unhealthy",
        "upgrade-version-unknown",
    ]
    assert calico.codes() == wanted
    assert calico.did == []


def test_a_node_that_is_away_is_left_out_by_consent(calico):
    calico.agents["w2"], calico.agent["w2"] = Kubelet(False, "1.10.13"), ""
    assert calico.codes() == ["upgrade-node-away"]
    calico.run("upgrade-node-away")
    assert [names for _, names, _ in calico.did] == [("m1",), ("m2",), ("m3",), ("w1",), ("w3",)]
