"""Lines of logs, of users and of the network are split at line feeds alone: no other separator ends one.

`str.splitlines`, and `iter_lines` of HTTP clients, split at U+2028, U+2029, U+0085, form feeds and more, which users print. What
may use them is listed with its reason.
"""

import ast
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TREES = ("ava", "installer", "avadm_node", "validation", "plugins", "roles")
CALLS = {"splitlines", "iter_lines", "aiter_lines"}
ALLOWED = {row["file"]: row for row in yaml.safe_load((Path(__file__).parent / "splitlines.yml").read_text())}


def sources() -> list[Path]:
    """Return our Python files, those without the ending too."""
    found = [p for tree in TREES for p in (ROOT / tree).rglob("*.py")]
    found += [
        p
        for p in (ROOT / "roles").glob("*/files/*")
        if p.is_file() and not p.suffix and b"python" in p.read_bytes().partition(b"\n")[0]
    ]
    return [p for p in found if "node_modules" not in p.parts and ".venv" not in p.parts]


def calls(text: str) -> int:
    """Return how often a program splits a text at whatever Python takes for a line's end."""
    return sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS
        for node in ast.walk(ast.parse(text))
    )


def test_texts_are_split_at_line_feeds() -> None:
    found = {str(p.relative_to(ROOT)): n for p in sources() if (n := calls(p.read_text()))}
    assert found == {name: row["calls"] for name, row in ALLOWED.items()}


def test_no_part_that_reads_logs_or_users_texts_is_allowed() -> None:
    assert not [
        name
        for name in ALLOWED
        if name.startswith(("ava/", "avadm_node/agents/logs/", "installer/avadm/logs/client"))
    ]
    assert all(row["why"] for row in ALLOWED.values())


@pytest.mark.parametrize("line", ["text.splitlines()", "answer.iter_lines()", "x.read().splitlines(True)"])
def test_a_call_is_seen(line: str) -> None:
    assert calls(line) == 1
