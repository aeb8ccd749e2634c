"""Tables at 80 columns, on narrower terminals and in a pipe: what matters is never cut; every verb prints them so."""

import ast
import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from avadm.cli import tables

CLI = Path(tables.__file__).parent
NODES = "storage1, storage2, storage3, storage4, compute1"
TITLE = "Kubernetes' nodes and the network of pods, with a title that is longer than others"


def table():
    made = Table(box=None, pad_edge=False)
    for name in ("step", "phase", "what", "after", "state", "nodes"):
        made.add_column(name, no_wrap=True)
    made.add_row("1", "base", TITLE, "", "pending (needed)", NODES)
    made.add_row("2", "kubernetes-masters", TITLE, "etcd, database, docker", "unreachable", "compute1")
    return made


def shown(width, terminal):
    out = io.StringIO()
    to = Console(file=out, width=width, force_terminal=terminal, no_color=True, soft_wrap=True)
    tables.print_table(table(), whole=("step", "phase", "state"), to=to)
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in out.getvalue().splitlines()]


def test_in_a_pipe_each_row_is_one_whole_line():
    lines = shown(80, terminal=False)
    assert len(lines) == 3
    for word in ("pending (needed)", NODES, TITLE):
        assert word in lines[1]


@pytest.mark.parametrize("width", [80, 60])
def test_on_a_narrow_terminal_the_important_columns_are_whole(width):
    lines = shown(width, terminal=True)
    assert width < 80 or max(map(len, lines)) <= width
    text = "\n".join(lines)
    for word in ("pending (needed)", "kubernetes-masters", "unreachable"):
        assert word in text
    for node in NODES.replace(",", "").split():
        assert node in text
    assert "…" not in text


def test_where_even_these_do_not_fit_each_row_is_a_block():
    lines = shown(30, terminal=True)
    assert "state  pending (needed)" in lines
    assert f"nodes  {NODES}" in lines
    assert lines.count("") == 1


def test_a_wide_terminal_has_the_table_as_it_is():
    assert len(shown(200, terminal=True)) == 3


@pytest.mark.parametrize("verb", [("plan", "--offline"), ("status", "--offline"), ("plan",)])
def test_verbs_cut_nothing_in_a_pipe(avadm, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    reply = avadm(*verb)
    assert reply.exit_code == 0, reply.output
    (row,) = [
        line for line in reply.output.splitlines() if " monitoring " in f" {line} " and "pending" in line
    ][:1]
    assert "…" not in row
    if verb[0] == "plan":
        assert "stor1, stor2, stor3, comp1, comp2" in row


def test_a_pipe_has_no_frames(avadm):
    reply = avadm("accept", "list")
    assert reply.exit_code == 0
    assert not set("│┃━─┏") & set(reply.output)
    (row,) = [line for line in reply.output.splitlines() if line.startswith("A-FS2 ")]
    assert row.count(">=") == 2


@pytest.mark.parametrize(
    ("language", "wanted"), [("zh_CN.UTF-8", "带宽"), ("en_US.UTF-8", "bandwidth"), ("C", "bandwidth")]
)
def test_titles_of_checks_have_one_language(avadm, monkeypatch, language, wanted):
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", language)
    (row,) = [line for line in avadm("accept", "list").output.splitlines() if line.startswith("A-FS2 ")]
    assert [word in row for word in ("带宽", "bandwidth")] == [
        word == wanted for word in ("带宽", "bandwidth")
    ]


def modules():
    return [p for p in sorted(CLI.glob("*.py")) if "Table(" in p.read_text() and p.name != "tables.py"]


def test_there_are_tables():
    assert len(modules()) > 8


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.stem)
def test_every_table_is_printed_by_the_helper(path):
    """As many tables are printed by it as are made, and no console is handed one."""
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    made = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "Table"]
    helped = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print_table"]
    assert len(helped) == len(made) > 0
