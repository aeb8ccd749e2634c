import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from avadm import paths
from avadm.cli import main as frame
from avadm.cli.output import print_findings, print_json
from avadm.errors import AvadmError
from avadm.findings import Finding, Severity


def test_the_first_page_keeps_its_lines_and_shows_no_marks():
    reply = CliRunner().invoke(frame.cli, ["--help"]).output
    assert "\\b" not in reply
    assert any(line.strip().startswith("A lab here:") for line in reply.splitlines())


@pytest.mark.parametrize("verb", sorted(frame.VERBS))
def test_every_verb_has_help(verb):
    result = CliRunner().invoke(frame.cli, [verb, "--help"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Usage:")


def test_a_mistyped_verb_is_reported_the_nearest_and_exits_2(called):
    code, _, reply = called("aply")
    assert code == 2
    assert "Did you mean 'apply'?" in reply


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_site_file_is_a_sentence_with_a_remedy(home):
    with pytest.raises(AvadmError) as caught:
        _ = frame.App().resolved_site
    assert "site init" in caught.value.findings[0].remedy


def test_the_site_is_looked_for_in_the_flag_then_here_then_the_pointer(home):
    pointer = paths.default_site_pointer()
    pointer.parent.mkdir()
    pointer.write_text("/somewhere/site.yml\n")
    assert frame.App().resolved_site == Path("/somewhere/site.yml")
    (home / "site.yml").touch()
    assert frame.App().resolved_site == home / "site.yml"
    assert frame.App(Path("/flag.yml")).resolved_site == Path("/flag.yml")


@pytest.fixture
def ended(called, monkeypatch):
    """Return a function: call a verb that ends in an error; its exit status and what it complained."""

    def run(error, verb="site"):
        @click.command()
        def boom():
            raise error

        monkeypatch.setattr(frame.Verbs, "get_command", lambda *_: boom)
        code, _, reply = called(verb)
        return code, reply

    return run


def test_an_unexpected_error_is_one_sentence_and_its_traceback_lies_in_a_private_file(
    ended, tmp_path, monkeypatch
):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path))
    code, reply = ended(ValueError("odd"))
    assert (code, "Traceback" in reply, "ValueError: odd" in reply) == (2, False, True)
    [crash] = (tmp_path / "crashes").iterdir()
    assert "Traceback" in crash.read_text()
    assert crash.stat().st_mode & 0o077 == 0


def test_an_unexpected_error_is_reported_where_its_traceback_cannot_be_kept(ended, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "file" / "cache"))
    code, reply = ended(ValueError("odd"))
    assert (code, "AVADM_CACHE" in reply, "ValueError: odd" in reply) == (2, True, True)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
@pytest.mark.parametrize(
    ("verb", "message"),
    [("apply", "where it stopped"), ("preflight", "changes nothing"), ("site", "Interrupted.\n")],
)
def test_a_stopped_verb_ends_in_a_sentence_that_is_true_of_it(ended, error, verb, message):
    code, reply = ended(error, verb)
    assert code == 2
    assert "Interrupted" in reply and message in reply
    assert "Traceback" not in reply


def test_findings_decide_the_exit_code(ended):
    assert ended(AvadmError(Finding("x", "bad"), exit_code=1))[0] == 1


def test_a_finding_of_many_hosts_is_printed_once_and_errors_last(capsys):
    print_findings(
        [
            Finding("c", "Clock is off.", host="a"),
            Finding("w", "Little memory.", severity=Severity.WARNING),
            Finding("c", "Clock is off.", host="b"),
        ]
    )
    shown = capsys.readouterr().err
    assert shown.count("Clock is off.") == 1
    assert "a, b" in shown
    assert shown.index("Little memory.") < shown.index("Clock is off.")


def test_two_findings_of_one_host_are_both_printed(capsys):
    print_findings(
        [Finding("p", "One port.", found=f"{a} and {b}", host=h) for a, b, h in ("xyh", "xzh", "xyi")]
    )
    shown = capsys.readouterr().err
    assert shown.count("One port.") == 2
    assert "x and y" in shown and "x and z" in shown
    assert "h, i" in shown


def test_brackets_in_findings_are_no_markup(capsys):
    print_findings([Finding("x", "wanted [bold]", found="[red]x[/red]")])
    assert "[red]x[/red]" in capsys.readouterr().err


def test_json_is_json(capsys):
    print_json({"a": [1, Path("/x")]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, "/x"]}


def _shell(argv, rest):
    """Run avadm in bash with what follows it; the exit status is avadm's own."""
    # A buffered standard output breaks later than an unbuffered one: as users have it.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    line = f"{sys.executable} -m avadm {argv} {rest}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=env)


@pytest.fixture
def bad_site(tmp_path):
    path = tmp_path / "bad.yml"
    path.write_text("name: x\n")
    return path


@pytest.mark.parametrize("rest", [pytest.param("| true", marks=pytest.mark.slow), "2>&1 | true"])
@pytest.mark.parametrize(
    ("argv", "code"),
    [("--help", 0), ("site show --schema", 0), ("accept list", 0), ("site check BAD --json", 2)],
)
def test_a_reader_that_went_away_changes_no_exit_status(bad_site, argv, code, rest):
    result = _shell(argv.replace("BAD", str(bad_site)), rest)
    assert (result.returncode, result.stderr) == (code, "")


@pytest.mark.parametrize("argv", ["--help", "site show --schema", "accept list", "site check BAD --json"])
def test_a_full_device_is_a_finding(bad_site, argv):
    result = _shell(argv.replace("BAD", str(bad_site)), ">/dev/full")
    assert result.returncode == 2
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr
