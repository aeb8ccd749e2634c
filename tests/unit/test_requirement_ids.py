"""Ids of requirements (K1, A-SC8) are for acceptance; what users read names the thing instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.unit.fakes.scripts import load

ROOT = Path(__file__).parents[2]
REQUIREMENT = re.compile(r"\b[KNPI](?:[1-9]|1[0-9])\b|\bA-[A-Z]{2}[0-9]{1,2}\b")
SOURCES = ("installer/avadm", "ava", "avadm_node", "plugins")
ABOUT_REQUIREMENTS = {"acceptance.md", "negative-controls.md", "faults.md", "architecture.md"}


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of strings that may reach a user: no docstrings, and no field that holds ids alone."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and re.sub(r"[, ]", "", REQUIREMENT.sub("", node.value))
        ):
            yield node.lineno, node.value


def texts(value: object) -> Iterator[str]:
    """Yield all texts of a YAML document; the field ``requirement`` holds ids for acceptance."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "requirement":
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("source", SOURCES)
def test_no_message_names_a_requirement(source: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:120]}"
        for path in sorted((ROOT / source).rglob("*.py"))
        for line, text in messages(ast.parse(path.read_text(encoding="utf-8")))
        if REQUIREMENT.search(text)
    ]
    assert not found, "\n".join(found)


def test_no_message_of_a_role_names_a_requirement() -> None:
    found = []
    for folder in ("tasks", "handlers", "meta"):
        for path in sorted(ROOT.glob(f"roles/*/{folder}/**/*.yml")):
            document = YAML(typ="safe").load(path)
            found += [
                f"{path.relative_to(ROOT)}: {t[:120]}" for t in texts(document) if REQUIREMENT.search(t)
            ]
    for path in sorted(ROOT.glob("roles/prometheus/files/rules/*.yml")):
        found += [
            f"{path.name}: {t[:120]}" for t in texts(YAML(typ="safe").load(path)) if REQUIREMENT.search(t)
        ]
    assert not found, "\n".join(found)


def test_no_page_of_the_web_site_names_a_requirement() -> None:
    pages = [*ROOT.glob("ava/web/templates/*.html"), *ROOT.glob("ava/web/locale/*/LC_MESSAGES/*.po")]
    assert len(pages) > 30
    found = [path.name for path in pages if REQUIREMENT.search(path.read_text(encoding="utf-8"))]
    assert not found


def test_no_page_of_the_documentation_but_those_of_acceptance_names_a_requirement() -> None:
    """Names of acceptance's checks (A-SC8) may stand where a page tells what a check has measured."""
    known = re.compile(r"\b[KNPI](?:[1-9]|1[0-9])\b")
    written = [p for p in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")) if "generated" not in p.parts]
    pages = {path: path.read_text(encoding="utf-8") for path in written} | load("scripts/generate").pages()
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line[:120]}"
        for path, text in pages.items()
        if path.name not in ABOUT_REQUIREMENTS
        for number, line in enumerate(text.split("\n"), 1)
        if known.search(line)
    ]
    assert not found, "\n".join(found)
