"""The controller's half: it comes in again before rules are kept, and says what became of a node that is cut off."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleConnectionFailure

SOURCE = Path(__file__).parents[3] / "plugins/action/avadm_packet_filter.py"
spec = importlib.util.spec_from_file_location("avadm_packet_filter_action", SOURCE)
plugin = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plugin)
ARMED = {"changed": True, "armed": True}


@pytest.fixture
def act(monkeypatch):
    """Return a function that runs the plug-in: the module's answers, and for each new connection whether it succeeds."""

    def run(answers, ways=(), check_mode=False):
        task = SimpleNamespace(
            args={"rules": "x", "seconds": 60},
            check_mode=check_mode,
            async_val=0,
            diff=False,
            environment=None,
        )
        wire = SimpleNamespace(transport="mitogen_ssh", _shell=SimpleNamespace(tmpdir="/unused"))
        made = plugin.ActionModule(task, wire, SimpleNamespace(), None, None, None)
        done, ways = [], list(ways)

        def execute(module_args, task_vars):
            done.append(module_args.get("step", "load"))
            return answers.pop(0)

        def come_in(task_vars):
            done.append("new connection")
            if not ways.pop(0):
                raise AnsibleConnectionFailure("timed\nout")

        monkeypatch.setattr(made, "_execute_module", execute)
        monkeypatch.setattr(made, "_come_in", come_in)
        monkeypatch.setattr(plugin.time, "sleep", lambda s: done.append(f"wait {s:.0f}"))
        monkeypatch.setattr(plugin.time, "monotonic", lambda: 0.0)
        return made.run(task_vars={}), done

    return run


def test_rules_are_kept_after_a_new_connection(act):
    result, done = act([dict(ARMED), {"changed": False}], [True])
    assert (result["changed"], done) == (True, ["load", "new connection", "keep"])


@pytest.mark.parametrize("check_mode", [True, False])
def test_rules_that_are_loaded_or_only_compared_need_no_connection(act, check_mode):
    result, done = act([{"changed": check_mode, "armed": False}], check_mode=check_mode)
    assert (result["changed"], done) == (check_mode, ["load"])


@pytest.mark.parametrize(("after", "says"), [(True, "as before"), (False, "console")])
def test_a_node_that_is_cut_off_is_waited_for_and_its_rules_are_never_kept(act, after, says):
    result, done = act([dict(ARMED)], [False, after])
    assert done == ["load", "new connection", "wait 75", "new connection"]
    assert result["failed"]
    assert "(timed out)" in result["msg"]
    assert says in result["msg"]


def test_rules_that_were_taken_back_meanwhile_are_a_failure(act):
    result, _ = act([dict(ARMED), {"failed": True, "msg": "taken back"}], [True])
    assert (result["failed"], result["msg"]) == (True, "taken back")
