"""plan, apply, status and runs through the command line, with a fake in the place of Ansible."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from avadm.remote.events import Kind
from avadm.site.vault import Vault
from avadm.state.lock.controller import lock_controller
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.cli import MONS, SITE, refusal


def data(result):
    return json.loads(result.stdout)


def test_plan_shows_phases_order_and_what_runs_at_once(avadm):
    found = data(avadm("plan", "--json"))
    assert found["waves"] == [["base"], ["ceph", "monitoring"], ["cephfs", "rbd"]]
    assert found["phases"][1]["hosts"] == list(MONS)
    text = avadm("plan", "--limit", "osd").output
    assert "storage cluster" in text
    assert "Nothing was changed" in text
    assert "site.yml apply --limit osd\n" in text


def test_a_plan_of_which_nothing_is_due_names_no_command(avadm):
    assert "To do it: " in avadm("plan", "--offline").output
    avadm("apply", "-q")
    text = avadm("plan", "--offline").output
    assert text.endswith("\nNothing to do, by what is recorded; no node was asked.\n")
    assert "To do it" not in text


def test_apply_hands_each_playbook_its_limit_inventory_and_vault(avadm, playbooks, tmp_path):
    result = avadm("apply", "--quiet")
    assert result.exit_code == 0, result.output
    ceph = next(r for r in playbooks.requests if r.phase == "ceph")
    assert (ceph.playbook.name, ceph.limit) == ("ceph.yml", MONS)
    assert (ceph.vault, ceph.vault_password) == (tmp_path / "site.vault.yml", tmp_path / "site.vault-pass")
    assert (ceph.inventory / "hosts.yml").is_file()
    assert "No changes" in result.output


def test_a_run_folder_holds_all_and_no_secret(avadm, tmp_path):
    assert avadm("apply", "-q").exit_code == 0
    folder = (tmp_path / "runs" / "latest").resolve()
    names = {p.name for p in folder.iterdir()}
    assert names == {"events.jsonl", "log.txt", "ledger.json", "summary.json", "inventory", "plan.json"}
    secrets = Vault.open(tmp_path / "site.yml").values()
    assert secrets
    everything = "".join(p.read_text() for p in folder.rglob("*") if p.is_file())
    assert not [s for s in secrets if s in everything]
    assert json.loads((folder / "summary.json").read_text())["hosts"]["stor1"]["ok"] > 0


def test_apply_of_one_phase_pulls_in_what_is_not_done_and_only_that(avadm, playbooks):
    avadm("apply", "rbd", "-q")
    assert playbooks.phases == ["base", "ceph", "rbd"]
    avadm("apply", "rbd", "-q")
    assert playbooks.phases == ["rbd"]


def test_resume_leaves_out_what_is_done_with_the_same_inputs(avadm, playbooks, tmp_path):
    avadm("apply", "-q")
    assert "Nothing to do" in avadm("apply", "--resume").output
    site = tmp_path / "site.yml"
    site.write_text(SITE + "components: {monitoring: {retention_days: 3}}\n")
    avadm("apply", "--resume", "-q")
    assert playbooks.phases == ["monitoring"]


def test_a_failed_task_ends_with_host_task_error_remedy_log_and_command(avadm, playbooks):
    playbooks.script["ceph", "stor2"] = (Kind.FAILED, "/dev/sdb is not blank: it holds ext4")
    result = avadm("apply")
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    end = result.output[result.output.index("✗ ceph on stor2: role : Work") :]
    assert "/dev/sdb is not blank: it holds ext4" in end
    assert "disk was refused to protect data" in end
    assert "log.txt" in end
    assert "apply" in end.splitlines()[-1]
    assert "waiting on ceph" in result.output


def test_a_dead_node_is_named_and_the_others_go_on(avadm, playbooks):
    playbooks.script["base", "comp1"] = (Kind.UNREACHABLE, "No route to host")
    result = avadm("apply", "-q")
    assert result.exit_code == 1
    assert "Not reached, nothing was done there: comp1" in result.output
    assert all("comp1" not in r.limit for r in playbooks.requests if r.phase != "base")
    assert set(playbooks.phases) == {"base", "ceph", "cephfs", "rbd", "monitoring"}


def test_apply_json_is_the_summary_and_nothing_else(avadm):
    found = data(avadm("apply", "--json"))
    assert found["result"] == "good"
    assert {p["name"] for p in found["phases"]} >= {"base", "ceph"}
    found = data(avadm("apply", "--resume", "--json"))
    assert (found["result"], found["phases"], found["changed"]) == ("good", [], 0), "nothing to do"


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["apply", "cefp"], "Did you mean 'ceph"),
        (["apply", "--limit", "stor9"], "--limit matches no node"),
        (["apply", "ceph", "--limit", "comp1"], "No node takes part"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_made(avadm, tmp_path, argv, word):
    assert word in refusal(avadm(*argv)).what
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("verb", ["plan", "apply"])
@pytest.mark.parametrize("limit", ["", " , "])
def test_an_empty_limit_is_refused_and_never_means_all(avadm, playbooks, verb, limit):
    result = avadm(verb, "--limit", limit)
    assert result.exit_code == 2
    assert "names no node" in result.output
    assert not playbooks.requests


def test_a_limit_takes_names_patterns_and_roles(avadm, playbooks):
    avadm("apply", "base", "-q", "--limit", "stor[12]", "--limit", "prometheus")
    assert playbooks.requests[0].limit == ("stor1", "stor2", "comp1", "comp2")


def test_the_plan_is_made_from_the_state_as_it_is_once_the_lock_is_held(
    avadm, playbooks, tmp_path, monkeypatch
):
    @contextmanager
    def last_word(folder, name):
        # The run before writes its last word while this one waits for the lock.
        site_state = SiteState(folder / "ledger.json", "t")
        site_state.finish("base", dict.fromkeys([*MONS, "comp1", "comp2"], PhaseState.DONE))
        with lock_controller(folder, name):
            yield

    monkeypatch.setattr("avadm.state.lock.site.lock_controller", last_word)
    avadm("apply", "monitoring", "-q")
    assert playbooks.phases == ["monitoring"]
    assert SiteState(tmp_path / ".avadm/t/ledger.json", "t").done("base", ["stor1"])


def test_a_run_that_could_not_start_leaves_nothing_behind(avadm, tmp_path):
    avadm("apply", "base", "-q")
    (tmp_path / "site.vault-pass").write_text("wrong\n")
    assert refusal(avadm("apply", "-q"))
    (row,) = data(avadm("runs", "list", "--json"))
    assert row["result"] == "good"
    assert (tmp_path / "runs" / "latest").readlink() == Path(row["id"])


def test_a_dry_run_goes_on_as_a_dry_run(avadm, playbooks):
    playbooks.script["base", "stor2"] = (Kind.FAILED, "x")
    assert avadm("apply", "base", "--check").output.splitlines()[-1].endswith(" apply base --dry-run")


def test_the_remedy_of_several_nodes_names_all_after_limit(avadm, playbooks):
    for node in ("stor1", "stor2"):
        playbooks.script["base", node] = (Kind.UNREACHABLE, "Host key verification failed.")
    text = avadm("apply", "base").output
    assert "The host key of stor1 is not the pinned one" in text
    assert "avadm bootstrap --limit stor1,stor2`" in text


def test_a_second_apply_at_once_is_refused(avadm, tmp_path):
    with lock_controller(tmp_path / ".avadm" / "t", "apply"):
        assert refusal(avadm("apply")).check == "site-locked"


def test_ctrl_c_prints_the_summary_gives_the_lock_back_and_exits_2(avadm, nodes, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("avadm.engine.apply.Engine.run", interrupted)
    result = avadm("apply")
    assert result.exit_code == 2
    assert "no playbook runs any more" in result.output
    assert data(avadm("runs", "list", "--json"))[-1]["result"] == "canceled"
    assert not any(nodes.path(node, "/var/lib/avadm/t/lock").exists() for node in MONS)


def test_status_goes_from_pending_to_done_to_stale(avadm, tmp_path):
    def states():
        return {p["name"]: p["state"] for p in data(avadm("status", "--json"))["phases"]}

    assert set(states().values()) == {"pending"}
    assert "Nothing is installed yet" in avadm("status").output
    avadm("apply", "-q")
    assert set(states().values()) == {"done"}
    assert data(avadm("status", "--json"))["phases"][1]["hosts"] == {"total": 3, "done": 3, "failed": 0}
    (tmp_path / "site.yml").write_text(SITE + "components: {monitoring: {retention_days: 3}}\n")
    assert {n for n, s in states().items() if s == "stale"} == {"monitoring"}
    assert f"`avadm --site {tmp_path}/site.yml apply monitoring`" in avadm("status").output


def test_status_tells_what_failed_where(avadm, playbooks):
    playbooks.script["rbd", "comp2"] = (Kind.FAILED, "x")
    avadm("apply", "-q")
    (rbd,) = [p for p in data(avadm("status", "--json"))["phases"] if p["name"] == "rbd"]
    assert (rbd["state"], rbd["failed_hosts"]) == ("failed", ["comp2"])
    assert "site.yml apply rbd`" in avadm("status").output


def test_runs_are_listed_and_shown(avadm, playbooks):
    assert "no run yet" in avadm("runs", "list").output
    avadm("apply", "base", "-q")
    (row,) = data(avadm("runs", "list", "--json"))
    assert (row["verb"], row["phases"], row["result"]) == ("apply", ["base"], "good")
    shown = avadm("runs", "show").output
    assert "Slowest tasks" in shown
    assert row["id"] in avadm("runs", "show", row["id"]).output


def test_a_killed_run_is_shown_from_its_events(avadm, tmp_path):
    avadm("apply", "base", "-q")
    (tmp_path / "runs" / "latest" / "summary.json").unlink()
    assert data(avadm("runs", "list", "--json"))[0]["result"] == "unfinished"
    result = avadm("runs", "show")
    assert result.exit_code == 0, result.output
    assert "base" in result.output
