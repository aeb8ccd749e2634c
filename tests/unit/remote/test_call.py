"""Asking nodes: what is sent, how an answer is read, what noise, silence and a hostile node come to."""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

import avadm_node
from avadm import node_bundle
from avadm.remote import call as asking
from avadm.remote.call import FOLDER, answer, ask, mapping, modules, script
from avadm_node import loader
from avadm_node.probes import lock, versions
from avadm_node.probes.disks import report
from avadm_node.probes.health import parts
from avadm_node.probes.preflight import facts
from tests.unit.fakes import nodes
from tests.unit.fakes.fleet import LocalFleet


def works(python):
    return shutil.which(python) and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


INTERPRETERS = [sys.executable, *filter(works, ["python2.7"])]
QUIET = {"folder": "/nowhere", "verb": "show", "owner": None, "token": ""}


class Here(LocalFleet):
    """Nodes that are this machine, whose Python says something of its own before the answer."""

    def __init__(self, noise=""):
        super().__init__()
        self.noise = noise

    def run(self, node, command, *, timeout=60.0, stdin=None):
        line = f"echo '{self.noise}'; {command}" if self.noise else command
        return super().run(node, line, timeout=timeout, stdin=stdin)


def run(program, python=sys.executable):
    # Bare and elsewhere: nothing but what is sent can be imported, and nothing was before.
    return subprocess.run(
        [python, "-S", "-"],
        input=program,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
    )


@pytest.mark.parametrize("python", INTERPRETERS)
def test_a_function_is_called_with_what_it_is_given_and_what_it_imports(python):
    done = run(script(lock.do, QUIET), python)
    assert json.loads(done.stdout) == {"serial": None, "keepers": None, "done": None, "holder": None}, (
        done.stderr
    )
    done = run(script(report.approved, {"devices": [{"serial": "none"}], "fsid": "x"}), python)
    assert [one["state"] for one in json.loads(done.stdout)] == ["refused"], done.stderr


@pytest.mark.parametrize("function", [facts.collect, parts.ask, versions.ask, lock.do, report.every])
def test_all_that_is_imported_is_sent_and_nothing_else(function):
    sent, name = modules(function.__module__), function.__module__
    package = name.rpartition(".")[0]
    beside = [n for n in sent if n.startswith(f"{package}.")] if name in node_bundle.BY_NAME else []
    check = f"import sys, {', '.join([name, *beside])}\nprint(*sorted(m for m in sys.modules if m.split('.')[0] == 'avadm_node'))"
    got = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, cwd=FOLDER.parent
    ).stdout.split()
    # What is imported within a function alone is there as well.
    assert set(sent) >= set(got)
    assert {n.split(".")[2] for n in set(sent) - set(got)} <= {"disks"}


def test_a_module_is_compiled_only_where_it_is_imported(monkeypatch):
    monkeypatch.setattr(
        sys, "meta_path", [loader.Sent({"sent_a": [False, "x = 1"], "sent_b": [False, "("]}), *sys.meta_path]
    )
    import sent_a

    assert sent_a.x == 1
    with pytest.raises(SyntaxError):
        import sent_b  # noqa: F401


def test_what_a_function_raises_is_reported_by_its_last_words():
    answers = ask(Here(), sys.executable, lock.do, {"a": {"verb": "show"}})
    assert (answers["a"].value, answers["a"].why) == (None, "KeyError: 'folder'")


@pytest.mark.parametrize(
    "noise", ["Last login: today", "{not json", "[warn] disk", "abcd", "1.5", '{"a": 1}']
)
def test_what_else_a_node_says_before_its_answer_is_passed_over(noise):
    value = ask(Here(noise), sys.executable, lock.do, {"a": QUIET}, read=mapping)["a"].value
    assert value == {"serial": None, "keepers": None, "done": None, "holder": None}


def test_the_clock_is_read_before_and_after():
    found = ask(Here(), sys.executable, lock.do, {"a": QUIET}, stamped=True)["a"]
    assert found.value is not None
    assert 0 < found.stamps[1] - found.stamps[0] < 60


@pytest.mark.parametrize(
    ("out", "rc", "err", "why"),
    [
        ("", 127, "sh: python9: not found", "sh: python9: not found"),
        ("", 3, "", "exit 3"),
        ("hello", 0, "", asking.NO_ANSWER),
        ("[1, 2]", 0, "", asking.NO_ANSWER),  # an object was wanted
        ("[" * 100_000, 0, "", asking.NO_ANSWER),
    ],
)
def test_why_a_node_gave_no_answer(out, rc, err, why):
    assert answer(nodes.answer("a", "", out, rc, err), mapping).why == why


def test_the_fleets_own_reason_goes_before_all():
    assert answer(nodes.answer("a", "", '{"a": 1}', rc=255, error="no route"), mapping).why == "no route"


def test_a_long_answer_goes_deflated():
    value = {"text": "line of a journal\n" * 10_000}
    line = loader.packed(value)
    assert len(line) < 10_000
    assert answer(nodes.answer("a", "", line + "\n"), mapping).value == value
    assert loader.packed({"a": 1}) == '{"a": 1}'


def test_an_answer_that_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(asking, "MOST", 1 << 20)
    bomb = base64.b64encode(zlib.compress(json.dumps({"a": " " * (8 << 20)}).encode())).decode()
    assert answer(nodes.answer("a", "", bomb), mapping).why == asking.NO_ANSWER


def test_each_node_gets_its_own_and_answers_are_reported_as_they_come():
    reports = []
    given = {name: {**QUIET, "folder": f"/{name}"} for name in ("a", "b", "c")}
    seen = {}

    class Kept(Here):
        def run(self, node, command, *, timeout=60.0, stdin=None):
            seen[node] = nodes.given(stdin)
            return super().run(node, command, timeout=timeout, stdin=stdin)

    found = ask(Kept(), sys.executable, lock.do, given, progress=lambda *about: reports.append(about))
    assert list(found) == ["a", "b", "c"]
    assert seen == given
    assert sorted(name for name, _, _ in reports) == ["a", "b", "c"]
    assert [about[1:] for about in reports] == [(1, 3), (2, 3), (3, 3)]


def test_questions_of_several_threads_are_made_at_once():
    node_bundle._imports.cache_clear()
    functions = [facts.collect, parts.ask, versions.ask, report.every] * 8
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda f: sorted(modules(f.__module__)), functions))
    assert found == found[:4] * 8


def test_ctrl_c_closes_what_it_would_wait_for():
    closed = threading.Event()

    class Silent(Here):
        def run(self, node, command, **_):
            if node == "a":
                raise KeyboardInterrupt
            assert closed.wait(20)
            return nodes.answer(node, command, rc=255, error="closed")

        def close(self, nodes=None):
            super().close(nodes)
            closed.set()

    fleet = Silent()
    with pytest.raises(KeyboardInterrupt):
        ask(fleet, "python3", lock.do, {"a": QUIET, "b": QUIET})
    assert fleet.closed == ["a", "b"]


def test_what_must_not_be_cut_off_is_waited_for():
    class Late(Here):
        def run(self, node, command, **more):
            if node == "a":
                raise KeyboardInterrupt
            ended.append(super().run(node, command, **more))
            return ended[0]

    ended, fleet = [], Late()
    with pytest.raises(KeyboardInterrupt):
        ask(fleet, sys.executable, lock.do, {"a": QUIET, "b": QUIET}, cut=False)
    assert (fleet.closed, [one.rc for one in ended]) == ([], [0])


def test_parameters_are_no_words_of_a_command_line():
    asked = []

    class Kept(Here):
        def run(self, node, command, *, timeout=60.0, stdin=None):
            asked.append(command)
            return nodes.answer(node, command, "{}")

    ask(Kept(), "/opt/my python", lock.do, {"a": {"proxy": "http://u:hunter2@p"}})
    assert asked == ["'/opt/my python' -"]


def test_the_package_is_the_one_that_is_imported():
    assert FOLDER.name == avadm_node.__name__
