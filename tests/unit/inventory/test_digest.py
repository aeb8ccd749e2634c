"""What the digest of a phase's inputs on a node depends on."""

import json
from pathlib import Path

import pytest

from avadm.components.catalog import PHASES
from avadm.components.model import Phase
from avadm.inventory.digest import Digests, only_peers_changed
from avadm.inventory.model import Variables

BASE, CEPH = (next(p for p in PHASES if p.name == name) for name in ("base", "ceph"))
MONITORING, ADDONS = (next(p for p in PHASES if p.name == name) for name in ("monitoring", "addons"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "playbooks").mkdir()
    for phase in (BASE, CEPH, MONITORING, ADDONS):
        (tmp_path / phase.playbook).write_text("- hosts: all\n")
        for role in (*phase.roles, *phase.borrows):
            (tmp_path / "roles" / role / "tasks").mkdir(parents=True, exist_ok=True)
            (tmp_path / "roles" / role / "tasks" / "main.yml").write_text("[]\n")
    osd = ("modules/avadm_ceph_osd", "action/avadm_ceph_osd")
    for name in (*osd, "action/avadm_pushes", "modules/avadm_package", "module_utils/avadm_machine"):
        path = tmp_path / "plugins" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    (tmp_path / "plugins/action/avadm_ceph_osd.py").write_text("from avadm_pushes\n")
    (tmp_path / "templates/ceph").mkdir(parents=True)
    (tmp_path / "templates/ceph/unit.j2").write_text("1\n")
    (tmp_path / "roles/ceph_osd/tasks/run.yml").write_text(
        "- avadm_ceph_osd: {x: D/../templates/ceph/unit.j2}\n"
    )
    return tmp_path


def digest(home: Path, variables: Variables, phase: Phase = CEPH, host: str = "a", **secrets: str) -> str:
    return Digests(variables, home, {"p": ["prometheus"], "d": ["dns"]}, secrets).host(phase, host)


def test_a_digest_changes_with_what_the_phase_uses_and_nothing_else(home: Path) -> None:
    def variables(**own: object) -> Variables:
        return Variables({"site_name": "x", "ceph_osd_memory": 1, "chrony_servers": []}, {"a": dict(own)})

    before = digest(home, variables())
    assert digest(home, variables()) == before
    assert digest(home, variables(ceph_mon_address="10.0.0.1")) != before
    assert digest(home, variables(something_of_the_site=1)) != before
    # Another phase's role, and how the node is reached, are no inputs of this one.
    assert digest(home, variables(chrony_servers=["x"])) == before
    assert digest(home, variables(ansible_host="10.0.0.9")) == before
    (home / "roles/chrony/tasks/main.yml").write_text("[1]\n")
    assert digest(home, variables()) == before
    (home / "roles/ceph_osd/tasks/main.yml").write_text("[1]\n")
    assert digest(home, variables()) != before


@pytest.mark.parametrize(
    ("path", "phases"),
    [
        ("plugins/module_utils/avadm_machine.py", {"base", "ceph", "monitoring"}),
        ("plugins/modules/avadm_ceph_osd.py", {"ceph"}),
        ("plugins/action/avadm_ceph_osd.py", {"ceph"}),
        ("plugins/action/avadm_pushes.py", {"ceph"}),  # another plug-in names it
        ("plugins/modules/avadm_package.py", set()),  # no file of these phases names it
        ("roles/grafana/tasks/handover.yml", {"monitoring"}),
        ("templates/ceph/unit.j2", {"ceph"}),
    ],
)
def test_a_digest_changes_with_the_plugins_templates_and_borrowed_roles_in_use(home, path, phases):
    both = (BASE, CEPH, MONITORING)
    before = {p.name: digest(home, Variables(), p) for p in both}
    (home / path).write_text("2\n")
    assert {p.name for p in both if digest(home, Variables(), p) != before[p.name]} == phases


def test_what_hosts_share_is_made_text_once_and_a_host_s_own_value_wins(home, monkeypatch):
    made = []
    dumps = json.dumps
    monkeypatch.setattr(
        "avadm.inventory.digest.json.dumps", lambda v, **how: made.append(v) or dumps(v, **how)
    )
    shared = {f"ceph_osd_{n}": [f"value {n}"] for n in range(30)}
    hosts = {f"h{n}": {"ceph_osd_1": n} for n in range(20)}
    digests = Digests(Variables(shared, hosts), home, {}, {})
    assert len({digests.host(CEPH, h) for h in hosts}) == 20
    assert sum(v == ["value 2"] for v in made) == 1, "and not once for each host"
    assert digests.host(CEPH, "h3") == digest(home, Variables({**shared, "ceph_osd_1": 3}))


def test_prometheus_targets_are_no_input_of_nodes_without_prometheus(home: Path) -> None:
    one, two = (Variables({"prometheus_targets": {"node": list(range(n))}}) for n in (1, 2))
    assert digest(home, one, MONITORING, "a") == digest(home, two, MONITORING, "a")
    assert digest(home, one, MONITORING, "p") != digest(home, two, MONITORING, "p")


def test_names_of_nodes_are_an_input_of_dns_that_another_role_s_variable_holds(home: Path) -> None:
    named = {"coredns_site_hosts": "{{ base_hosts }}\n10.0.0.9 objects", "chrony_servers": "{{ base_hosts }}"}
    one, two = (Variables({**named, "base_hosts": hosts}) for hosts in ("10.0.0.1 a", "10.0.0.2 b"))
    assert digest(home, one, ADDONS, "d") != digest(home, two, ADDONS, "d")
    # Other nodes of the phase, and phases whose variables do not name it, do not depend on it.
    assert digest(home, one, ADDONS, "a") == digest(home, two, ADDONS, "a")
    assert digest(home, one, CEPH, "d") == digest(home, two, CEPH, "d")


def test_a_variable_of_another_phase_is_an_input_of_the_one_whose_defaults_name_it(home: Path) -> None:
    defaults = home / "roles/ceph_osd/defaults"
    defaults.mkdir()
    (defaults / "main.yml").write_text(
        'ceph_osd_steered: "{{ not ceph_osd_x and not chrony_serve }}"\n# chrony_other\n'
    )
    one, two = (Variables({"chrony_serve": serves, "chrony_other": serves}) for serves in (False, True))
    assert digest(home, one, CEPH) != digest(home, two, CEPH)
    assert digest(home, one, MONITORING) == digest(home, two, MONITORING)
    other = Variables({"chrony_other": True, "chrony_serve": False})
    assert digest(home, one, CEPH) == digest(home, other, CEPH)
    # A node's own value counts for that node.
    own = Variables({"chrony_serve": False}, {"a": {"chrony_serve": True}})
    assert digest(home, own, CEPH, "a") != digest(home, own, CEPH, "b")


def test_a_digest_changes_when_a_file_moves_to_another_folder(home: Path) -> None:
    before = digest(home, Variables())
    (home / "roles/ceph_osd/handlers").mkdir()
    (home / "roles/ceph_osd/tasks/main.yml").rename(home / "roles/ceph_osd/handlers/main.yml")
    assert digest(home, Variables()) != before


def test_a_digest_changes_with_the_secrets_that_it_names_and_with_no_others(home: Path) -> None:
    named = Variables({"ceph_osd_key": "{{ vault_osd }}", "chrony_key": "{{ vault_clock }}"}, {"a": {}})

    def digest_of(phase: Phase = CEPH, **secrets: str) -> str:
        return digest(home, named, phase, vault_state_key="k", **secrets)

    before = digest_of(vault_osd="one")
    assert digest_of(vault_osd="one", vault_clock="two", vault_of_a_new_node="three") == before
    assert digest_of(vault_osd="two") != before
    assert digest_of(BASE, vault_clock="one") != digest_of(BASE, vault_clock="two")
    (home / "roles/ceph_osd/defaults").mkdir()
    (home / "roles/ceph_osd/defaults/main.yml").write_text('ceph_osd_more: "{{ vault_more }}"\n')
    assert digest_of(vault_more="one") != digest_of(vault_more="two")
    (home / "roles/grafana/defaults").mkdir()
    (home / "roles/grafana/defaults/main.yml").write_text('grafana_password: "{{ vault_lent }}"\n')
    assert digest_of(MONITORING, vault_lent="one") != digest_of(MONITORING, vault_lent="two")


def test_a_digest_tells_nothing_of_secrets_without_the_vault_s_key(home: Path) -> None:
    named = Variables({"ceph_osd_key": "{{ vault_osd }}"})
    assert digest(home, named, vault_osd="one") == digest(home, named, vault_osd="two")
    keyed = {digest(home, named, vault_osd="one", vault_state_key=key) for key in ("k", "l")}
    assert len(keyed) == 2


@pytest.mark.parametrize(
    ("recorded", "now", "alone"),
    [
        ("i.s.t", "i.s.u", True),
        ("i.s.t", "i.s.t", False),
        ("i.s.t", "j.s.u", False),
        ("i.s.t", "i.z.u", False),
        ("i.s.t", "i.locked.u", True),
        ("i.s.t", "i.locked.t", False),
        ("i.s.t", "j.locked.u", False),
        ("i.s", "i.z", False),
        ("i.s", "i.s.u", False),
        ("", "i.s.u", False),
    ],
)
def test_what_is_reported_alone_is_the_last_part_of_a_digest(recorded, now, alone):
    assert only_peers_changed(recorded, now) is alone
