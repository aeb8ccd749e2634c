"""What verbs of day two share: nothing begins without an answer, and what was accepted is in the plan."""

from types import SimpleNamespace

import click
import pytest

from avadm.catalogue import finding
from avadm.cli import operation as module
from avadm.operations import run as operations
from avadm.operations.model import Operation
from avadm.state.run_folder import RunFolder

WORDS = ("maintenance", "end", "stor1")


@pytest.fixture
def began(monkeypatch):
    """What was run, of a plan that can be run."""
    ran = []
    plan = Operation(WORDS[0], " ".join(("avadm", *WORDS)), ())
    monkeypatch.setattr(operations, "plan", lambda *_: plan)
    monkeypatch.setattr(operations, "run", lambda *_, **__: ran.append(1) or SimpleNamespace(id="r1"))
    return ran


@pytest.fixture
def answers(monkeypatch):
    """Return a function that gives the answer of a person on a terminal."""

    def give(answer):
        monkeypatch.setattr(module, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
        monkeypatch.setattr(click, "confirm", lambda *_, **__: answer)

    return give


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_without_a_terminal_nothing_begins_unless_it_was_said_so(avadm, began, words):
    refused = avadm(*WORDS, *words).exception
    assert [f.check for f in refused.findings] == ["no-answer"]
    assert began == []
    assert avadm(*WORDS, *words, "--yes").exit_code == 0
    assert began == [1]


def test_json_is_never_mixed_with_a_question(avadm, began, answers):
    answers(True)
    assert [f.check for f in avadm(*WORDS, "--json").exception.findings] == ["no-answer"]
    assert began == []


@pytest.mark.parametrize(("answer", "runs"), [(True, [1]), (False, [])])
def test_a_person_is_asked(avadm, began, answers, answer, runs):
    answers(answer)
    avadm(*WORDS)
    assert began == runs


def test_the_answer_no_is_not_called_an_interruption(monkeypatch, capsys):
    from avadm.cli import main as frame

    monkeypatch.setattr(frame.cli, "main", lambda *_, **__: (_ for _ in ()).throw(frame.Declined()))
    assert frame._run() == 2
    assert capsys.readouterr().err == "Nothing was begun.\n"


def test_what_was_accepted_is_in_the_plan():
    refusal = finding("replace-degraded", where="osd.3", found="2 groups are degraded", command="c")
    plan = Operation("disk replace", "c", (), refusals=[refusal], acceptable=frozenset({"replace-degraded"}))
    shown = operations.show(plan, ["replace-degraded"])
    assert shown[-1].split() == ["Accepted:", "replace-degraded,", "osd.3:", "2", "groups", "are", "degraded"]
    assert not any("Accepted" in line for line in operations.show(plan))


@pytest.fixture
def folder(avadm):
    """The folder of an operation's run."""
    made = RunFolder.create("disk-replace")
    made.write_json("plan.json", Operation("disk replace", "avadm disk replace stor1 osd.3", ()).as_dict())
    return made


def test_a_run_of_an_operation_is_shown_step_by_step(avadm, folder):
    folder.log.write_text(
        "$ avadm disk replace stor1 osd.3\n10:00:00 [1/7] stop osd.3\x1b[2J\nresult: good\n"
    )
    shown = avadm("runs", "show").output
    assert "10:00:00 [1/7] stop osd.3\\x1b[2J\nresult: good\n" in shown
    assert "No changes" not in shown and str(folder.path) in shown


def test_a_killed_operation_names_the_command_that_continues_it(avadm, folder):
    assert "Continue: avadm disk replace stor1 osd.3\n" in avadm("runs", "show").output


@pytest.mark.parametrize(
    ("may", "words"),
    [(True, "`--accept quorum-even` accepts it."), (False, "No option accepts `quorum-even`.")],
)
def test_each_refusal_has_its_id(may, words):
    refusal = finding("quorum-even", where="mon", found="2", wanted="1 or 3", role="mon")
    plan = Operation(
        "node remove", "c", (), refusals=[refusal], acceptable=frozenset({"quorum-even"} if may else ())
    )
    assert operations.refused(plan, ())[0].remedy.endswith(words)
