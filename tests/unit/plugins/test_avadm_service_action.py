"""The controller's half of a service: what it reads of the role, and who is interrupted when."""

import multiprocessing
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from avadm.remote.ansible import STRATEGY, PlaybookRun, environment
from tests.unit.fakes.roles import program
from tests.unit.fakes.running import play, stub

artifact = program("../plugins/action/avadm_artifact.py", "avadm_artifact_action")
plugin = program("../plugins/action/avadm_service.py", "avadm_service_action")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(plugin.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def act(monkeypatch, answers, **args):
    """Run the plug-in; return the result and what the module was given each time."""
    task = SimpleNamespace(args=args, check_mode=False, async_val=0, diff=False, environment=None, _uuid="1")
    wire = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/unused"))
    made = plugin.ActionModule(task, wire, SimpleNamespace(), None, None, None)
    asked = []

    def execute(module_args, task_vars):
        asked.append(module_args)
        return answers.pop(0)

    pushing = artifact.ActionModule(task, wire, SimpleNamespace(), None, None, None)
    for one in (made, pushing):
        monkeypatch.setattr(one, "_execute_module", execute)
    monkeypatch.setattr(made, "_pushing", lambda: pushing)
    return made.run(task_vars={"ansible_user": "ops"}), asked


@pytest.mark.parametrize(
    ("each", "wanted"),
    [
        (["a", "b"], [("/r/a.yml", "rules/a.yml", None), ("/r/b.yml", "rules/b.yml", None)]),
        ({"a": [1]}, [("/r/a.yml", "rules/a.yml", "[\n    1\n]")]),
        ([], []),
    ],
)
def test_there_is_a_file_for_each_word(each, wanted):
    entry = {"path": "/r/{}.yml", "src": "rules/{}.yml", "each": each}
    made = [(one["path"], one["src"], one.get("content")) for one in plugin.each(entry)]
    assert made == wanted
    assert all("each" not in one for one in plugin.each(entry))


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ({}, "PEM\n", {"content": "PEM\n"}),
        ({"as": "secret"}, "key", {"secret": "key"}),
        ({"as": "base64"}, "aGE=", {"base64": "aGE="}),
        ({"as": "artifact"}, {"sha256": "0"}, {"artifact": {"sha256": "0"}}),
    ],
)
def test_what_a_dictionary_has_is_what_the_file_shall_have(kind, given, wanted):
    (made,) = plugin.each({"path": "/p/{}", "mode": "0755", "each": {"a": given}} | kind)
    assert made == {"path": "/p/a", "mode": "0755"} | wanted


def test_lists_among_the_files_are_taken_as_their_entries():
    assert list(plugin.flat([{"path": "/a"}, [{"path": "/b"}, []], []])) == [{"path": "/a"}, {"path": "/b"}]


def test_nothing_of_a_file_is_in_the_result(monkeypatch):
    files = [{"path": "/a", "content": "much"}]
    answer = {"changed": False, "invocation": {"module_args": {"name": "x", "files": files}}}
    found, asked = act(monkeypatch, [answer], name="x", files=[{"path": "/a", "content": "much"}])
    assert found["invocation"]["module_args"] == {"name": "x", "files": [{"path": "/a"}]}
    assert asked[0]["files"] == [{"path": "/a", "content": "much"}]
    assert asked[0]["login"] == "ops"


def test_who_was_interrupted_before_the_others_looked_has_to_serve_again_before_them(monkeypatch):
    """n1 served when it was interrupted, n2 did not; n3 looked while n1 was away and asks for both, and for n4."""
    given = {"name": "x", "rolling": 1, "peers": ["n1", "n2", "n3", "n4"]}

    def bring(own, answering, serving):
        look = {"waits": True, "answering": answering, "serving": serving, "pushed": ["/p"]}
        found, asked = act(monkeypatch, [look, {"changed": True}], **given, own=own)
        assert (found["changed"], asked[1]["turn"], asked[1]["pushed"]) == (True, True, ["/p"])
        return asked[1]["gate"]

    assert bring("n1", ["n4"], True) == ["n4"]
    assert bring("n2", [], False) == ["n1"]
    assert bring("n3", ["n4"], True) == ["n1", "n4"]


def test_so_many_take_their_turn_at_once_and_no_more(tmp_path):
    """Turns are held by processes, as Ansible's workers are."""

    def work(most):
        with plugin.turn("key", 2):
            (tmp_path / f"in-{os.getpid()}").touch()
            time.sleep(0.1)
            with most.get_lock():
                most.value = max(most.value, len(list(tmp_path.glob("in-*"))))
            (tmp_path / f"in-{os.getpid()}").unlink()

    context = multiprocessing.get_context("fork")
    most = context.Value("i", 0)
    workers = [context.Process(target=work, args=(most,)) for _ in range(6)]
    for one in workers:
        one.start()
    for one in workers:
        one.join(20)
    assert ([one.exitcode for one in workers], most.value) == ([0] * 6, 2)


def test_a_turn_ends_with_what_had_it():
    with pytest.raises(ZeroDivisionError), plugin.turn("key", 1):
        raise ZeroDivisionError
    with plugin.turn("key", 1):
        pass


@pytest.mark.parametrize("strategy", ["linear", STRATEGY])
def test_a_task_of_a_role_has_its_files_templates_and_service_on_the_node(tmp_path, monkeypatch, strategy):
    role = tmp_path / "roles/r"
    for name in ("tasks", "files", "templates/part"):
        (role / name).mkdir(parents=True)
    (role / "files/plain").write_text("plain {{ no template }}\n")
    (role / "templates/main.j2").write_text(
        "{% include 'part/more.j2' %}\n\n{{ word }} {{ ansible_managed }}\n\n"
    )
    (role / "templates/part/more.j2").write_text('["more"]')
    out = tmp_path / "out"
    files = [
        {"path": str(out / "plain"), "src": "plain"},
        {"path": str(out / "main"), "template": "main.j2"},
        {"path": str(out / "{}.json"), "each": {"a": {"b": 1}}},
    ]
    task = {"name": "Run it", "avadm_service": {"name": "x", "files": files, "rolling": 1}}
    (role / "tasks/main.yml").write_text(yaml.safe_dump([task]))
    shown = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nExecMainStartTimestampMonotonic=0"
    monkeypatch.setenv("AVADM_STRATEGY", strategy)
    env = environment(PlaybookRun("x", tmp_path, tmp_path, ()), Path(sys.executable))
    # ansible-runner adds its own folder; to Ansible alone it means the working folder, all of whose Python files it imports.
    assert env.pop("ANSIBLE_CALLBACK_PLUGINS") == ""
    env |= stub(tmp_path / "bin/systemctl", f"[ $1 = show ] && echo '{shown}' || echo $* >> {tmp_path}/calls")
    done = play(tmp_path, {"ansible.builtin.import_role": {"name": "r"}}, env=env, word="said")
    assert "changed=1" in done.stdout, done.stdout
    assert (out / "plain").read_text() == "plain {{ no template }}\n"
    assert (out / "main").read_text() == '["more"]\nsaid Ansible managed\n\n'
    assert (out / "a.json").read_text() == '{\n    "b": 1\n}\n'
    assert (tmp_path / "calls").read_text() == "restart x.service\n"
