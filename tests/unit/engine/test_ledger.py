from pathlib import Path

import pytest

from avadm.engine.digest import Digests
from avadm.engine.ledger import Ledger, State
from avadm.engine.lock import holder, locked
from avadm.errors import AvadmError
from avadm.plan.phases import PHASES, Phase
from avadm.site.render import Vars

BASE, CEPH = PHASES[0], PHASES[1]


def test_a_ledger_survives_being_read_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "x" / "ledger.json", "t")
    ledger.start("base", {"a": "d1", "b": "d1"}, "run1")
    ledger.finish("base", {"a": State.DONE, "b": State.FAILED})
    again = Ledger(ledger.path, "t")
    assert again.as_dict() == ledger.as_dict()
    assert again.entry("base", "a").done_digest == "d1"
    assert again.done("base", ["a"])
    assert not again.done("base", ["a", "b"])


def test_what_was_done_once_is_remembered_when_a_later_run_fails(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", "t")
    ledger.start("base", {"a": "d1"}, "r1")
    ledger.finish("base", {"a": State.DONE})
    ledger.start("base", {"a": "d2"}, "r2")
    ledger.finish("base", {"a": State.FAILED})
    assert (ledger.entry("base", "a").digest, ledger.entry("base", "a").done_digest) == ("d2", "d1")


def test_what_a_killed_run_left_running_is_settled_as_failed(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger.json", "t").start("base", {"a": "d"}, "r")
    ledger = Ledger(tmp_path / "ledger.json", "t")
    ledger.settle()
    assert Ledger(ledger.path, "t").entry("base", "a").state is State.FAILED


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 1, "phases": {"a": 1}}'])
def test_a_broken_ledger_is_told_with_a_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(AvadmError) as caught:
        Ledger(tmp_path / "ledger.json", "t")
    assert caught.value.findings[0].remedy


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "playbooks").mkdir()
    for phase in (BASE, CEPH):
        (tmp_path / phase.playbook).write_text("- hosts: all\n")
        for role in phase.roles:
            (tmp_path / "roles" / role / "tasks").mkdir(parents=True)
            (tmp_path / "roles" / role / "tasks" / "main.yml").write_text("[]\n")
    return tmp_path


def digest(home: Path, variables: Vars, phase: Phase = CEPH, host: str = "a") -> str:
    return Digests(variables, home, home / "vault.yml").host(phase, host)


def test_a_digest_changes_with_what_the_phase_uses_and_nothing_else(home: Path) -> None:
    def variables(**own: object) -> Vars:
        return Vars({"site_name": "x", "ceph_osd_memory": 1, "chrony_servers": []}, {"a": dict(own)})

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


def test_a_digest_changes_with_the_secrets_and_does_not_show_them(home: Path) -> None:
    before = digest(home, Vars())
    (home / "vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\nsecret\n")
    after = digest(home, Vars())
    assert before != after
    assert "secret" not in after


def test_a_second_run_is_refused_with_who_holds_the_lock(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with locked(tmp_path, "apply"):
        who = holder(tmp_path)
        assert who is not None
        assert who["verb"] == "apply"
        with pytest.raises(AvadmError) as caught, locked(tmp_path, "apply"):
            pass
        finding = caught.value.findings[0]
        assert str(who["pid"]) in finding.found
        assert who["since"] in finding.found
    assert holder(tmp_path) is None
    with locked(tmp_path, "apply"):
        pass
