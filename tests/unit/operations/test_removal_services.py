"""`avadm node remove` of etcd, master, database and services: the others serve before anything is stopped."""

import pytest

from avadm.errors import AvadmError
from avadm.inventory import vault_guard
from avadm.operations import (
    node_remove,
    removal_database,
    removal_etcd,
    removal_master,
    removal_services,
    run,
)
from avadm.operations.etcd_members import Member
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.operations.service_room import SITE, Services


class Site:
    def __init__(self, folder, room):
        self.path, self.room, self.applied, self.lines = folder / "site.yml", room, [], []
        self.path.write_text(SITE)

    def follow(self, site_file, tell):
        self.applied.append([n.name for n in site_file.site.nodes])

    def build(self, name, role="", dead=False, accepted=()):
        return lambda cluster: node_remove.build(
            cluster, name, role, dead, accepted, self.follow, self.room.bring
        )

    def refusals(self, *words, accepted=(), **more):
        operation = run.plan(load(self.path), self.room, self.build(*words, accepted=accepted, **more))
        return {one.check for one in run.refused(operation, accepted)}

    def remove(self, *words, accepted=(), **more):
        clock = Clock()
        timed = run.Clock(clock, clock.sleep)
        build = self.build(*words, accepted=accepted, **more)
        return run.run(load(self.path), self.room, build, accepted, self.lines.append, clock=timed)

    def change(self, old, new):
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))

    @property
    def state(self):
        return SiteState.of(self.path, "t")


@pytest.fixture
def room(tmp_path):
    return Services(tmp_path / "nodes")


@pytest.fixture
def site(tmp_path, room, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    return Site(tmp_path, room)


def moved(site, role):
    """Give a role of mast1 to comp3, by hand in the site file, as the guide has it."""
    site.change(
        "roles: [etcd, master, dns, registry]}\n  - {name: mast2", "roles: [ROLES]}\n  - {name: mast2"
    )
    left = [one for one in ("etcd", "master", "dns", "registry") if one != role]
    site.change("ROLES", ", ".join(left))
    site.change("worker, database, grafana]", f"worker, database, grafana, {role}]")


def of(room, node):
    return [unit for at, unit in room.stopped if at == node]


# etcd.


def test_a_member_that_leads_hands_over_and_is_removed_by_its_id_before_it_stops(site, room):
    moved(site, "etcd")
    room.members["comp3"] = 0xB3
    site.remove("mast1", "etcd")
    assert set(room.members) == {"mast2", "mast3", "comp3"}
    assert room.leads != "mast1"
    done = [one for one in room.did if "etcd" in one or "leader" in one or "bring" in one]
    assert done[0].startswith("bring masters on mast1")
    assert done[1:3] == ["move-leader", "etcd member remove mast1"]
    assert of(room, "mast1") == [*removal_etcd.UNITS]
    assert "mv /var/lib/etcd/avadm/member" in done[3]
    assert "mast1" in load(site.path).site.nodes[4].name


def test_the_mark_of_a_member_that_left_is_forgotten(site, room):
    moved(site, "etcd")
    room.members["comp3"] = 0xB3
    for name in ("mast1", "mast2"):
        site.state.found("etcd", name, "1")
    site.remove("mast1", "etcd")
    assert site.state.bootstrapped("etcd") == {"mast2": "1"}


def test_an_even_number_of_members_is_refused(site):
    assert site.refusals("mast1", "etcd") == {"quorum-even"}


@pytest.mark.parametrize(
    ("name", "down", "learners", "refused"),
    [
        ("a", set(), set(), False),
        ("a", {"b"}, set(), True),  # of two that are left, both must answer
        ("a", {"a"}, set(), False),
        ("a", {"a", "b"}, set(), True),
        ("a", set(), {"c"}, True),
        ("z", {"a", "b"}, set(), False),  # no member
    ],
)
def test_a_quorum_is_counted_after_the_removal(name, down, learners, refused):
    members = [Member(n, n, n in learners) for n in "abc"]
    found = removal_etcd.quorum_refusals(name, members, set("abc") - down)
    assert bool(found) == refused
    assert {one.check for one in found} <= {"etcd-quorum-lost"}


def test_a_member_that_fails_after_the_plan_stops_the_removal(site, room):
    moved(site, "etcd")
    room.members["comp3"] = 0xB3
    build = site.build("mast1", "etcd")
    operation = run.plan(load(site.path), room, build)
    [step] = [one for one in operation.steps if one.name == "remove the member mast1 of etcd"]
    room.etcd_down = {"mast2"}
    with pytest.raises(AvadmError) as error:
        step.act(print)
    assert {one.check for one in error.value.findings} == {"etcd-quorum-lost"}
    assert "mast1" in room.members


# The control plane.


def test_a_master_whose_role_another_node_has_is_removed(site, room):
    moved(site, "master")
    site.change("[etcd, dns, registry]", "[etcd]")
    room.apis.add("comp3")
    site.remove("mast1", "master")
    assert room.apis == {"mast2", "mast3", "comp3"}
    assert of(room, "mast1")[-len(removal_master.UNITS) - 1 :] == ["haproxy", *removal_master.UNITS]
    assert "mast1" not in room.kube  # no other role of it has a kubelet
    assert site.refusals("mast1", "master") == {"role-absent"}


@pytest.mark.parametrize(("apis", "wanted"), [({"mast1", "mast2"}, set()), ({"mast3"}, {"last-of-role"})])
def test_a_master_without_another_one_that_answers_is_refused(site, room, apis, wanted):
    room.apis = apis
    assert site.refusals("mast3", "master") - {"quorum-even"} == wanted


def test_the_address_goes_before_the_api_server_and_its_keys_go(room, site):
    operation = run.plan(load(site.path), room, site.build("mast3", "master"))
    [step] = [one for one in operation.steps if one.name.startswith("stop the control plane")]
    step.act(print)
    [script] = [one for one in room.did if one.startswith("mast3: ")]
    order = [
        script.index(word) for word in ("conf.d/api.conf", "haproxy", "kube-scheduler", "kube-apiserver")
    ]
    assert order == sorted(order)
    assert all(path in script for path in removal_master.SECRETS)
    assert not step.gate.look().holds
    room.endpoints.add("mast3")
    assert "10.9.0.33" in step.gate.look().holds
    room.apis.clear()
    assert step.gate.look().holds


def test_a_node_that_is_no_master_any_more_gives_the_address_up_as_well(room, site, monkeypatch):
    monkeypatch.setattr(vault_guard, "lost", lambda *of: None)
    site.state.start("masters", {"comp1": "d"}, "r")
    operation = run.plan(load(site.path), room, site.build("mast3", "master"))
    [step] = [one for one in operation.steps if one.name.startswith("stop the control plane")]
    step.act(print)
    names = [one.partition(": ")[0] for one in room.did if "conf.d/api.conf" in one]
    assert names == ["comp1", "mast3"]


# PostgreSQL.


def test_a_primary_hands_over_to_a_standby_in_sync_before_it_stops(site, room):
    site.remove("comp1", "database")
    assert room.patroni == {"comp2": "Leader", "comp3": "Sync Standby"}
    done = [one for one in room.did if "switchover" in one or one.startswith("comp1:")]
    assert done[0] == "switchover to comp2"
    assert "removed-" in done[1]
    assert "conf.d/database.conf" in done[1]
    assert of(room, "comp1")[-2:] == list(removal_database.UNITS)
    assert "database" not in load(site.path).site.node("comp1").roles


def test_a_standby_leaves_without_a_switchover(site, room):
    site.remove("comp3", "database")
    assert room.patroni == {"comp1": "Leader", "comp2": "Sync Standby"}
    assert not [one for one in room.did if "switchover" in one]


@pytest.mark.parametrize(
    ("patroni", "down"),
    [
        ({"comp1": "Leader", "comp2": "Replica", "comp3": "Replica"}, set()),
        ({"comp1": "Leader", "comp2": "Sync Standby"}, {"comp2"}),
        ({"comp2": "Replica", "comp3": "Replica"}, set()),
    ],
)
def test_a_primary_is_never_removed_while_no_standby_is_in_sync(site, room, patroni, down):
    room.patroni, room.patroni_down = patroni, down
    assert site.refusals("comp1", "database") == {"database-not-in-sync"}
    with pytest.raises(AvadmError):
        site.remove("comp1", "database")
    assert room.acts == 0


def test_one_that_became_the_primary_again_is_not_stopped(site, room):
    operation = run.plan(load(site.path), room, site.build("comp3", "database"))
    [step] = [one for one in operation.steps if one.name.startswith("stop PostgreSQL")]
    room.patroni = {"comp1": "Sync Standby", "comp3": "Leader"}
    with pytest.raises(AvadmError) as error:
        step.act(print)
    assert error.value.exit_code == 1
    assert room.acts == 0


def test_the_last_node_of_the_database_is_refused(site, room):
    site.change(
        "[client, worker, database, ingress, prometheus, alertmanager]",
        "[client, worker, ingress, prometheus, alertmanager]",
    )
    site.change(", vip: 10.9.0.252", "")
    assert "last-of-role" in site.refusals("comp3", "database")


# Services.


@pytest.mark.parametrize(
    ("name", "role", "first"),
    [
        ("mast1", "dns", "bring addons on"),
        ("mast1", "registry", "bring base addons on"),
        ("comp1", "ingress", "comp1: if ls /etc/keepalived/conf.d/ingress.conf"),
        ("comp1", "alertmanager", "comp1: "),
        ("comp3", "grafana", "comp3: "),
        ("comp3", "log_store", "comp3: "),
    ],
)
def test_a_service_leaves_a_node_that_stays(site, room, name, role, first):
    accepted = ("local-images",) if role == "registry" else ()
    site.remove(name, role, accepted=accepted)
    assert room.did[0].startswith(first)
    [service] = [one for one in removal_services.SERVICES if one.role == role]
    assert [u for u in of(room, name) if u != "keepalived"] == list(service.units)
    after = load(site.path).site
    assert role not in after.node(name).roles
    assert name in [n.name for n in after.nodes]
    assert role != "log_store" or after.components.logs.stores == ["stor1"]
    for phases, roles in room.brought:
        assert role not in roles[name], phases


@pytest.mark.parametrize(
    ("name", "role", "planted", "wanted"),
    [
        ("comp1", "prometheus", {}, "prometheus-replicas"),
        ("mast1", "registry", {}, "local-images"),
        ("mast1", "dns", {"not_serving": {"mast2"}}, "last-of-role"),
        ("comp1", "ingress", {"not_serving": {"comp2"}}, "last-of-role"),
        ("comp3", "log_store", {"not_serving": {"stor1"}}, "last-of-role"),
        ("comp2", "grafana", {}, "role-absent"),
        ("comp2", "alluxio_master", {}, "role-not-supported"),
    ],
)
def test_what_others_do_not_serve_is_refused(site, room, name, role, planted, wanted):
    for key, value in planted.items():
        setattr(room, key, value)
    assert wanted in site.refusals(name, role)
    with pytest.raises(AvadmError):
        site.remove(name, role)
    assert room.acts == 0
    assert site.path.read_text() == SITE


def test_the_only_store_of_logs_is_refused_and_not_accepted(site):
    site.change("stores: [stor1, comp3]", "stores: [comp3]")
    assert {"local-logs", "last-of-role"} <= site.refusals("comp3", "log_store")
    assert not {"local-logs", "last-of-role"} & node_remove.ACCEPTABLE


def test_an_alertmanager_that_stays_alone_in_the_mesh_holds_the_removal(site, room):
    room.mesh_why = "not ready"
    with pytest.raises(AvadmError) as error:
        site.remove("comp1", "alertmanager")
    assert error.value.findings[0].check == "gate-closed"


def test_a_node_of_many_services_leaves_altogether(site, room):
    site.change("prometheus, alertmanager]}\n  - {name: comp3", "alertmanager]}\n  - {name: comp3")
    site.change("database, grafana]", "database, grafana, prometheus]")
    site.remove("comp2")
    assert room.patroni == {"comp1": "Leader", "comp3": "Sync Standby"}
    assert "comp2" not in room.kube | room.calico
    assert {"traefik", "patroni", "prometheus-alertmanager", "kubelet"} <= set(of(room, "comp2"))
    assert site.applied
    assert "comp2" not in site.path.read_text()


@pytest.mark.parametrize("name", ["comp1", "mast1"])
def test_the_first_node_of_every_role_leaves_wherever_it_was_killed(site, room, name):
    # Another one has what may not be there once less; comp1 has the primary, mast1 leads etcd.
    site.change(
        "roles: [client, worker, database, grafana]", "roles: [client, worker, database, grafana, NEW]"
    )
    if name == "comp1":
        site.change(
            "ingress, prometheus, alertmanager]}\n  - {name: comp2",
            "ingress, alertmanager]}\n  - {name: comp2",
        )
        site.change("NEW", "prometheus")
        words, accepted = ("comp1",), ()
    else:
        moved_roles = "mast1, address: 10.9.0.31, roles: [etcd, master, dns, registry]"
        site.change(moved_roles, "mast1, address: 10.9.0.31, roles: [master, dns, registry]")
        site.change("NEW", "etcd")
        room.members["comp3"] = 0xB3
        words, accepted = ("mast1", "etcd"), ()
    killed = 0
    for acts in range(60):
        room.killed_after, room.acts = acts, 0
        try:
            site.remove(*words, accepted=accepted)
            break
        except KeyboardInterrupt:
            killed += 1
    assert killed >= 3
    assert site.state.begun() == []
    assert name not in (room.patroni if name == "comp1" else room.members)


def test_a_dead_node_of_the_database_and_the_ingress_is_not_touched(site, room):
    site.change("prometheus, alertmanager]}\n  - {name: comp3", "alertmanager]}\n  - {name: comp3")
    site.change("database, grafana]", "database, grafana, prometheus]")
    room.silent.add("comp2")
    room.patroni = {"comp1": "Leader", "comp3": "Sync Standby"}
    site.remove("comp2", dead=True)
    assert not of(room, "comp2")
    assert "comp2" not in room.kube | room.calico
    assert "comp2" not in site.path.read_text()


def test_a_dead_primary_that_patroni_still_names_is_refused(site, room):
    site.change("prometheus, alertmanager]}\n  - {name: comp2", "alertmanager]}\n  - {name: comp2")
    site.change("database, grafana]", "database, grafana, prometheus]")
    room.silent.add("comp1")
    assert "database-not-in-sync" in site.refusals("comp1", dead=True)
