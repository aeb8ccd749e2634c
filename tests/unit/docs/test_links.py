"""Relative links of the documentation lead to files and headings that exist."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "docs/reference/generated"
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("evidence/*.md")]
    if page.parent != GENERATED
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> Iterator[str]:
    """Yield the targets of a page's relative links, outside code."""
    text = re.sub(r"^( *)```.*?^\1```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    yield from (target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and mkdocs make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = (re.sub(r"[^\w\s-]", "", h.lower()) for h in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"\s+", "-", h.strip()) for h in headings}


def navigation() -> set[str]:
    """Return the pages that the site's navigation names."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return set(re.findall(r"[\w/-]+\.md", str(yaml.safe_load(text)["nav"])))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        found = Path(os.path.normpath(page.parent / path)) if path else page
        if found.parent == GENERATED and found.suffix == ".md":
            # Not there in a clean clone: the site's navigation names each.
            if f"reference/generated/{found.name}" not in navigation():
                dead.append(target)
        elif not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            dead.append(target)
    assert dead == []


def test_the_site_has_every_page() -> None:
    pages = {str(p.relative_to(ROOT / "docs")) for p in PAGES if p.is_relative_to(ROOT / "docs")}
    generated = {name for name in navigation() if name.startswith("reference/generated/")}
    assert {p for p in pages if not p.startswith("adr/0")} == navigation() - generated
    assert len(pages) - len([p for p in pages if p.startswith("adr/")]) <= 40


CODE = re.compile(
    r"`((?:installer|ava|avadm_node|roles|plugins|playbooks|validation|tests|scripts|bench|evidence)/[\w./-]+)`"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths_in_code_exist(page: Path) -> None:
    named = {
        path for path in CODE.findall(page.read_text(encoding="utf-8")) if not re.search(r"[A-Z]{3}", path)
    }
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
