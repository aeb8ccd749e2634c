"""scripts/generate: what is made from sources of this repository, and is not under version control."""

import json
import re
import subprocess
from xml.sax.saxutils import quoteattr

import click
import pytest

from avadm.cli.main import cli
from avadm.components.catalog import PHASES
from tests.controls.day_two import VERBS
from tests.unit.fakes.scripts import ROOT, load


@pytest.fixture(scope="module")
def generate():
    return load("scripts/generate")


@pytest.fixture(scope="module")
def pages(generate):
    return {path.name: text for path, text in generate.pages().items()}


def test_nothing_that_is_generated_is_under_version_control():
    argv = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_missing_and_stale_files_are_written_and_those_without_a_source_removed(generate, tmp_path):
    stale, gone = tmp_path / "a.json", tmp_path / "b.json"
    stale.write_text("old")
    gone.write_text("of a dashboard that is no more")
    generate.write({stale: "new", tmp_path / "c" / "d.json": "first"}, tmp_path)
    assert stale.read_text() == "new"
    assert (tmp_path / "c/d.json").read_text() == "first"
    assert not gone.exists()


def test_every_role_and_verb_has_its_part(pages):
    there = [r.name for r in (ROOT / "roles").iterdir() if r.is_dir()]
    assert [name for name in there if f"\n## {name}\n" not in pages["roles.md"]] == []
    for verb in ("apply", "lab up", "site check", "runs show", "accept verify"):
        assert f"## `avadm {verb}`" in pages["cli.md"]


def test_every_phase_and_role_has_a_row_and_every_job_its_port_and_nodes(pages):
    def rows(text):
        cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
        return {row[0]: row[1:] for row in cells}

    phases, roles = map(rows, pages["phases.md"].split("## Roles"))
    assert set(phases) - {"phase", "---"} == {phase.name for phase in PHASES}
    there = {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()}
    assert set(roles) - {"role", "---"} == there
    assert phases["gpu"][1:4] == ["playbooks/gpu.yml", "docker", "gpu"]
    assert roles["ceph_mgr"][:2] == ["ceph", "mgr"], "not where it only lends tasks"
    jobs = rows(pages["scrape-jobs.md"])
    assert {"node", "database", "etcd"} < set(jobs)
    assert [job for job, (port, on) in jobs.items() if not port.strip() or not on.strip()] == []
    assert jobs["etcd"] == ["2379", "etcd"]


def test_a_file_of_alerts_is_named_as_its_component_or_what_it_is_about(generate):
    names = [generate.alerts_name(ROOT / f"a/logs/{name}.yml") for name in ("alerts", "alerts_new_errors")]
    assert names == ["logs", "new_errors"]
    files = {}
    generate.put(files, ROOT / "x.yml", "1")
    with pytest.raises(ValueError, match=r"x\.yml: two components"):
        generate.put(files, ROOT / "x.yml", "2")


def test_rows_of_a_table_are_whole(pages):
    for name, text in pages.items():
        tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
        assert bool(tables) is name.endswith(".md")
        for table in tables:
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().split("\n")}) == 1


def junit(path, *tests):
    """Write a JUnit file of tests as pytest does: name, seconds, the message of a failure, and the faults that it planted."""
    cases = ""
    for name, seconds, failure, *faults in tests:
        found = "".join(f'<property name="fault" value={quoteattr(json.dumps(f))} />' for f in faults)
        failed = f"<failure message={quoteattr(failure)}>trace</failure>" if failure else ""
        cases += f'<testcase classname="tests.lab.t" name="{name}" time="{seconds}">'
        cases += f"<properties>{found}</properties>{failed}</testcase>"
    path.write_text(f'<testsuites><testsuite name="pytest">{cases}</testsuite></testsuites>')
    return str(path)


def test_a_later_run_of_a_fault_replaces_its_row_and_keeps_the_others_and_the_notes(
    generate, monkeypatch, tmp_path
):
    monkeypatch.setattr(generate, "FAULTS", tmp_path / "faults.json")
    names = "part", "planted", "wanted", "came"
    reboot = dict(zip(names, ("reboot", "stor1 | power", "back", "all back"), strict=True))
    kill = dict(zip(names, ("kill", "x", "y", "y"), strict=True))
    slow = dict(zip(names, ("negative control", "slow link", "A-FS1 FAIL", "A-FS1 FAIL"), strict=True))
    first = junit(
        tmp_path / "1.xml", ("test_a", 3.4, "it stays away\nfor long", reboot), ("test_b", 1, "", kill)
    )
    second = junit(
        tmp_path / "2.xml", ("test_a", 3.6, "", reboot), ("test_c", 20, "", slow), ("test_d", 1, "")
    )
    for argv, came in (
        (["--note=on one machine", first], "NOT AS WANTED: it stays away"),
        ([second], "all back"),
    ):
        monkeypatch.setattr("sys.argv", ["generate", "faults", *argv])
        assert generate.main() == 0
        assert f"| reboot | stor1 \\| power | back | {came} |" in (tmp_path / "faults.md").read_text()
    rows = json.loads((tmp_path / "faults.json").read_text())["rows"]
    assert [r["test"] for r in rows] == [f"tests/lab/t.py::test_{x}" for x in "bac"]
    faults, controls = generate.faults().split("## Negative controls of acceptance")
    assert "| reboot | stor1 \\| power | back | all back | passed | 4 |" in faults
    assert "| kill | x | y | y | passed | 1 |" in faults
    assert "on one machine" in faults and "slow link" not in faults
    assert "slow link" in controls


def day_two_row(**more):
    row = {
        "verb": "node add",
        "load": "S",
        "stream": "rbd",
        "at": "not interrupted",
        "result": "good",
        "acknowledged": 7,
        "pause_s": 3.21,
        "pause_at": "2026-11-28T14:00:00Z",
        "seconds": 61.2,
        "ended": "2026-11-28T14:01:00Z",
        "tree": "0123456789abcdef",
    }
    return json.dumps({**row, **more})


def test_rows_of_day_two_replace_their_earlier_ones_and_what_was_not_recorded_is_not_measured(
    generate, monkeypatch, tmp_path
):
    monkeypatch.setattr(generate, "DAY_TWO", tmp_path / "day-two.json")
    for name, *lines in (
        ("1.jsonl", day_two_row(result="1 errors (a | b)"), day_two_row(stream="s3")),
        ("2.jsonl", day_two_row(), '{"verb": "cut sho'),
    ):
        (tmp_path / name).write_text("\n".join(lines))
        monkeypatch.setattr("sys.argv", ["generate", "day-two", str(tmp_path / name)])
        assert generate.main() == 0
    text = (tmp_path / "day-two.md").read_text()
    good = "good | 3.2 at 2026-11-28T14:00:00Z | 61 | 2026-11-28T14:01:00Z | 0123456789ab |"
    for stream in ("rbd", "s3"):
        assert f"| node add | S {stream} | not interrupted | {good}" in text
    assert "errors" not in text
    assert "| node add | K A Q | not interrupted | not measured |" in text
    assert "| node remove | S K A Q | controller cut off for 60 s | not measured |" in text


def test_the_page_of_day_two_is_that_of_its_rows(generate):
    assert generate.DAY_TWO.with_suffix(".md").read_text(encoding="utf-8") == generate.day_two()


def test_every_verb_that_operates_on_a_site_is_in_the_table_of_day_two():
    def verbs(group, words=()):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from verbs(command, (*words, name))
            elif {"dry_run", "accepted", "break_lock"} <= {p.name for p in command.params}:
                yield " ".join((*words, name))

    found = set(verbs(cli))
    assert {"disk replace", "upgrade"} <= found
    assert found <= set(VERBS)


@pytest.mark.parametrize("argv", [["faults"], ["faults", "--note=x"], ["nothing"]])
def test_without_a_file_it_says_how(argv, generate, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["generate", *argv])
    assert generate.main() == 2
    assert "usage" in capsys.readouterr().err
