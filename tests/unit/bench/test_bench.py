"""make bench: what is printed and kept of figures, and that a goal missed is reported."""

import io
import json
import sys

import pytest
from rich.console import Console

from tests.unit.fakes.scripts import load


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """The script as a module, with folders of its own."""
    module = load("bench/run.py")
    monkeypatch.setattr(module, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "performance.md")
    monkeypatch.setattr(module, "SSHD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py"])
    return module


def figures(ratio=1.2):
    return {
        "when": "2026-01-01T00:00:00Z",
        "machine": "2 cores",
        "costs": {
            "floor: base and ceph": {"wall_s": 100.0, "cpu_s": 1.0},
            "avadm apply, all phases": {"wall_s": 150.0, "cpu_s": 40.0},
        },
        "tasks": 400,
        "further_tasks": 200,
        "ratios": {
            "install / floor": ratio,
            "second run / install": 0.05,
            "controller CPU per host and task": 0.02,
            "preflight of 64 hosts, s": 9.5,
        },
        "preflight": [{"hosts": 64, "wall_s": 9.5, "controller_cpu_s": 1.2, "errors": 0, "warnings": 0}],
    }


def shown(bench, data):
    console = Console(width=150, record=True, file=io.StringIO())
    for table in bench.tables(data):
        console.print(table)
    return console.export_text()


def test_a_goal_is_met_or_shown_to_be_missed(bench):
    assert "NOT met" not in shown(bench, figures(1.5))
    assert shown(bench, figures(1.51)).count("NOT met") == 1


def test_nothing_is_measured_where_the_last_measurement_could_not_be_made(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "measure", lambda: pytest.fail("it was begun"))
    monkeypatch.setattr(bench, "SSHD", tmp_path / "sshd")
    with pytest.raises(SystemExit, match="run scripts/sshd"):
        bench.main()


@pytest.mark.parametrize(("ratio", "status"), [(1.2, 0), (1.6, 1)])
def test_figures_are_kept_and_a_missed_goal_is_the_exit_status(bench, monkeypatch, ratio, status):
    monkeypatch.setattr(bench, "measure", lambda: figures(ratio))
    monkeypatch.setattr(bench, "run", lambda *argv: None)
    assert bench.main() == status
    [kept] = bench.RUNS.glob("*.json")
    assert json.loads(kept.read_text()) == figures(ratio)


def test_the_lab_is_taken_down_when_something_fails(bench, monkeypatch):
    ran = []
    monkeypatch.setattr(bench, "run", lambda *argv: ran.append(argv))

    def fail():
        raise SystemExit("no")

    monkeypatch.setattr(bench, "measure", fail)
    with pytest.raises(SystemExit):
        bench.main()
    assert ran[-1][-3:] == ("down", "--name", "bench")


def test_the_document_shows_every_figure(bench, monkeypatch, tmp_path):
    path = tmp_path / "f.json"
    path.write_text(json.dumps(figures()))
    monkeypatch.setattr(sys, "argv", ["run.py", "--document", str(path)])
    assert bench.main() == 0
    text = bench.DOCUMENT.read_text()
    assert "| floor: base and ceph | 100.0 | 1.0 |" in text
    assert "| install / floor | 1.2 | ≤ 1.5 | met: " in text
    assert "took 100 ms each (400 of them)" in text
    assert "| 64 | 9.5 | 1.2 | 0 |" in text


def test_cost_is_of_all_children(bench):
    bench.RUNS.mkdir()
    spin = "import time; t=time.process_time()\nwhile time.process_time() - t < 0.3: pass"
    cost = bench.timed("x", "sh", "-c", f"{sys.executable} -c '{spin}'; true")
    assert cost.cpu >= 0.3


def test_a_command_that_fails_ends_it_with_its_last_words(bench):
    bench.RUNS.mkdir()
    with pytest.raises(SystemExit, match="no such thing"):
        bench.timed("x", "sh", "-c", "echo no such thing; exit 3")
