"""Public reports of peers about the command line: words, variables and file names arrive as they were written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ava.cli import specfile
from ava.domain.problems import ApiError
from tests.unit.ava.cli.test_ava_cli import Run, ann, ava
from tests.unit.ava.served import Served

__all__ = ["ann", "ava"]
HEAD = "name: n\nimage: a/b\n"


def command(served: Served, ann: Run, *words: str) -> list[str]:
    """Return a run's command as the server has it, after it was started by the CLI."""
    answer = ann("run", "--image", "a/b", "--json", "--", *words)
    assert answer.code == 0, answer.err
    found: list[str] = served.db.runs.get(json.loads(answer.out)["id"]).spec["command"]
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["echo", "hello 'world'"],
        ["python3", "t.py", "--resource", "{'ps-auc':{'cnt':1}}", '{"a": "b c"}'],
        ["python3", "-c", "args={'q': 'SELECT * FROM `my.table` LIMIT 1'}; print(args)"],
        ["sh", "-c", "echo aaa ; echo '(select a from t1)' && echo $HOME"],
        ["prog", "", " ", "-x", "--", "*", "\\", "a\tb", "\u00e9\U0001f600"],
    ],
)
def test_words_reach_the_run_as_they_were_given(served: Served, ann: Run, words: list[str]) -> None:
    assert command(served, ann, *words) == words


@pytest.mark.parametrize("line", ["echo test > output.txt", "python script.py", "a\nb"])
def test_a_whole_line_in_quotes_is_refused_with_the_way_to_write_it(
    served: Served, ann: Run, line: str
) -> None:
    answer = ann("run", "--image", "a/b", "--", line)
    assert answer.code == 2
    assert "sh -c" in answer.err
    assert not served.db.runs.list(owner="ann").items
    assert command(served, ann, "sh", "-c", line) == ["sh", "-c", line]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'q'", "q"),
        ('""', ""),
        *((one, one) for one in ("3", "1.50", "True", "yes", "010", "1e-4", "2026-11-27", "0x10", "a,b/8")),
    ],
)
def test_a_variable_in_a_file_is_its_text(tmp_path: Path, text: str, value: str) -> None:
    file = tmp_path / "t.yml"
    file.write_text(HEAD + f"env:\n  A: {text}\n  NO: on\n")
    assert specfile.load(file).spec["env"] == {"A": value, "NO": "on"}


def test_an_alias_of_a_variable_stays_a_number_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "t.yml"
    file.write_text(HEAD + "roles: [{replicas: &n 2}]\nenv: {N: *n}\n")
    found = specfile.load(file).spec
    assert (found["roles"][0]["replicas"], found["env"]) == (2, {"N": "2"})


def test_a_variable_without_a_value_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.yml"
    file.write_text(HEAD + "env: {A: }\n")
    with pytest.raises(ApiError):
        specfile.load(file)


@pytest.mark.parametrize(
    "name", ["D01_log(kd)=-1...1.yml", "a b.yml", "$(id).yml", "-x.yml", "\u00e9\u202f.yml"]
)
def test_a_file_may_have_any_name(ann: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(HEAD)
    assert ann("submit", "--check", "-f", str(tmp_path / name)).code == 0


def test_a_name_with_a_slash_is_refused_with_the_rule(ann: Run, tmp_path: Path) -> None:
    (tmp_path / "t.yml").write_text("name: elastic relax 1/12\nimage: a/b\n")
    answer = ann("submit", "-f", str(tmp_path / "t.yml"))
    assert answer.code == 2
    assert "t.yml:1: name" in answer.err


def test_what_is_reported_of_a_line_of_the_shell_runs_it(ann: Run, tmp_path: Path) -> None:
    """The remedy, as it is printed, does what was meant."""
    line = "echo 'a b'; echo \"$HOME\" > out"
    reply = ann("run", "--image", "a/b", "--", line).err
    text = "sh -c " + reply.replace("\n", " ").split(" sh -c ", 1)[1].strip()
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env={"HOME": "/h", "PATH": "/usr/bin:/bin"}, check=True
    )
    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == "/h\n"
