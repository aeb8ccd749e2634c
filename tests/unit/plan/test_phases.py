from graphlib import CycleError
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest
import yaml

from avadm.components.catalog import PHASES
from avadm.components.model import Phase
from avadm.errors import AvadmError
from avadm.plan.graph import make_plan, select, subset
from avadm.site.components import Components
from avadm.site.model import RoleName
from tests.unit.fakes import sites

NODES = {
    "stor1": ["mon", "mgr", "osd"],
    "stor2": ["mon", "osd"],
    "comp1": ["client", "mds", "prometheus"],
    "comp2": ["client"],
}

NEEDS = {
    "alluxio": {"mounts": [{"path": "/a", "cephfs": "/a"}]},
    "logs": {"stores": ["n"]},
}
"""What a part of a site cannot do without; all others have defaults."""
EVERY_PART = {
    name: NEEDS.get(name, {}) for name, field in Components.model_fields.items() if field.default is None
}
"""Each part that a site file may leave out."""

HOME = Path(__file__).parents[3]


def site(nodes=NODES, components=None):
    given = (sites.node(name, i, *roles) for i, (name, roles) in enumerate(nodes.items(), 1))
    return sites.site(*given, components=components or {})


def roles(step):
    """Return the roles of a step's playbook in the order in which they run."""
    plays = yaml.safe_load((HOME / step.phase.playbook).read_text())
    return [role["role"] for play in plays for role in play.get("roles", [])]


def before(name, steps):
    """Return all steps that are done before one starts."""
    direct = steps[name].needs
    return set(direct).union(*(before(n, steps) for n in direct))


def test_the_graph_has_no_cycle_and_needs_only_known_phases():
    names = {p.name for p in PHASES}
    assert len(names) == len(PHASES)
    assert all(set(p.needs) <= names for p in PHASES)
    full = site({"n": list(get_args(RoleName))}, EVERY_PART)
    assert set(EVERY_PART) == {p.component for p in PHASES if p.component}
    assert {s.name for s in make_plan(full)} == names


def test_a_part_that_the_site_file_does_not_name_is_not_in_the_plan():
    every = {"n": list(get_args(RoleName))}
    optional = {p.name for p in PHASES if p.component}
    assert optional
    assert optional & {s.name for s in make_plan(site(every))} == set()


def test_a_cycle_is_an_error_of_ours():
    loop = [Phase("a", "", "", ("b",), (), ()), Phase("b", "", "", ("a",), (), ())]
    with pytest.raises((CycleError, RecursionError)):
        make_plan(site(), phases=loop)


def test_what_does_not_need_each_other_shares_a_wave_and_a_phase_without_nodes_is_left_out():
    waves = {s.name: s.wave for s in make_plan(site())}
    wanted = {"base": 1, "filter": 2, "ceph": 2, "monitoring": 2, "cephfs": 3, "rbd": 3}
    assert {name: waves.get(name) for name in wanted} == wanted
    assert "gpu" not in waves, "no node has one"


def test_each_phase_takes_the_nodes_of_its_groups_in_the_files_order():
    hosts = {s.name: s.hosts for s in make_plan(site())}
    assert hosts["ceph"] == ("stor1", "stor2")
    assert hosts["rbd"] == ("stor1", "stor2", "comp1", "comp2")
    assert hosts["monitoring"] == tuple(NODES)


@pytest.mark.parametrize(("phase", "without"), [("cephfs", {"filesystem": None}), ("rbd", {"rbd_pools": []})])
def test_no_node_takes_part_where_there_is_nothing_to_make(phase, without):
    phases = {p.name: p for p in PHASES}
    there, lacks = site(), site(components={"ceph": without})
    assert phases[phase].hosts(there) == ("stor1", "stor2", "comp1", "comp2")
    assert phases[phase].hosts(lacks) == ()
    assert phases["ceph"].hosts(lacks) == ("stor1", "stor2")


def test_an_unknown_phase_is_reported_with_the_nearest():
    with pytest.raises(AvadmError) as caught:
        select(["monitorin", "zzz"])
    assert [f.check for f in caught.value.findings] == ["unknown-phase"] * 2
    assert "Did you mean 'monitoring'?" in caught.value.findings[0].what


def test_a_limit_leaves_out_phases_that_have_no_node_in_it():
    steps = make_plan(site(), limit=["comp2"])
    assert {s.name: s.hosts for s in steps}.keys() == {"base", "filter", "cephfs", "rbd", "monitoring"}
    # ceph is not in the plan: what needed it comes after what ceph itself needs.
    assert {s.name: s.needs for s in steps}["rbd"] == ("base",)


def test_a_limit_that_leaves_nothing_to_do_is_refused():
    with pytest.raises(AvadmError) as caught:
        make_plan(site(), ["ceph"], limit=["comp2"])
    assert caught.value.findings[0].check == "nothing-to-do"


def test_what_a_named_phase_needs_is_pulled_in_only_while_it_is_not_done():
    assert [s.name for s in make_plan(site(), ["rbd"])] == ["rbd"]
    steps = make_plan(site(), ["rbd"], pull_in={"base", "ceph", "monitoring"})
    assert [(s.name, s.pulled_in) for s in steps] == [("base", True), ("ceph", True), ("rbd", False)]


def placed(steps):
    return {s.name: (s.hosts, s.needs, s.wave) for s in steps}


def test_some_steps_of_a_plan_are_as_if_they_alone_were_asked_for():
    full = site({"n": list(get_args(RoleName)), "m": ["mon", "client"]}, EVERY_PART)
    whole = make_plan(full, limit=["n"])
    names = [s.name for s in whole]
    for some in (s for size in (1, 2, len(names) - 1) for s in combinations(names, size)):
        left = subset(whole, some)
        assert placed(left) == placed(make_plan(full, some, limit=["n"]))
        assert [s.wave for s in left] == sorted(s.wave for s in left)
    assert subset(whole, names) == whole
    assert subset(whole, []) == []


def test_a_step_that_is_left_out_hands_its_needs_on():
    whole = make_plan(site())
    assert {s.name: s.needs for s in whole}["rbd"] == ("ceph",)
    assert placed(subset(whole, ["base", "rbd"]))["rbd"][1:] == (("base",), 2)
    # What no step needs is not pulled in again.
    assert [s.name for s in subset(whole, ["rbd"])] == ["rbd"]


def test_no_container_starts_before_the_runtime_of_a_gpu_node_is_there():
    nodes = {"m": ["etcd", "master"], "w": ["worker"], "g": ["worker", "gpu"]}
    steps = {s.name: s for s in make_plan(site(nodes))}
    phase = {role: name for name, step in steps.items() for role in roles(step)}
    assert "docker" in before(phase["gpu_runtime"], steps), "its package needs docker's, configured"
    for starts_containers in ("kube_node", "calico"):
        assert phase["gpu_runtime"] in before(phase[starts_containers], steps)
    # The plug-in registers with the kubelet of its node.
    last = roles(steps[phase["gpu_device_plugin"]])
    assert last.index("kube_node") < last.index("gpu_device_plugin")
    # The control plane does not wait for drivers, and nothing does where there are no GPUs.
    assert phase["gpu_runtime"] not in before("masters", steps)
    without = {s.name: s for s in make_plan(site({n: r for n, r in nodes.items() if n != "g"}))}
    assert without["nodes"].needs == ("masters", "docker")
