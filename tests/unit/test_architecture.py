"""The packages import each other in one direction alone, as docs/architecture.md says."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = {
    "ava": ROOT / "ava",
    "avadm": ROOT / "installer/avadm",
    "avadm_validation": ROOT / "validation/avadm_validation",
}
SUITES = sorted(
    p.name for p in (TOPS["avadm_validation"] / "suites").iterdir() if (p / "__init__.py").is_file()
)


def layers(top: str) -> list[str]:
    """Return the packages in the order of docs/architecture.md: each imports only what stands before it."""
    text = (ROOT / "docs/architecture.md").read_text()
    block = text.split(f"<!-- layers of {top} -->")[1].split("```")[1]
    return block.replace("→", " ").split()


LOADING = "load validate rules draft errors source text schema key_help draft_file draft_parts vault openpgp"
"""Modules of avadm.site that read a site file, beside those that say what a site is."""
KINDS = {"component": "components", "rules": "loading", "variables": "inventory", "checks": "doctor"}
"""A component's folder has modules of several layers, told by the first word of their names; the others are the site's."""


def layer(module: str) -> str:
    """Return the layer of a module (``ava.api.app``): its package, but for those of a site and of its components."""
    top, *names = module.split(".")
    if top != "avadm" or len(names) < 2:
        return names[0] if names else ""
    if names[0] == "site" and names[1] in LOADING.split():
        return "loading"
    if names[0] == "components" and (TOPS[top] / "components" / names[1]).is_dir():
        word = names[2].split("_")[0] if len(names) > 2 else ""
        return KINDS.get(word, "site") if word else "site"
    return names[0]


def packages(top: str) -> set[str]:
    found = {layer(name) for name, _ in files(top)}
    return {name for name in found if not name.startswith("__")} - {"criteria", ""}


@cache
def files(top: str) -> tuple[tuple[str, Path], ...]:
    """Return the name and the path of each module."""
    return tuple(_files(top))


def _files(top: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(TOPS[top].rglob("*.py")):
        names = path.relative_to(TOPS[top]).with_suffix("").parts
        yield ".".join((top, *(n for n in names if n != "__init__"))), path


@cache
def modules(path: Path) -> set[str]:
    """Return what a file imports, inside functions too; of ``from a import b`` both."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
    return found


def imports(path: Path, top: str) -> set[str]:
    """Return the layers of ours that a file imports."""
    known = {name for name, _ in files(top)}
    found = {m for m in modules(path) if m.startswith(f"{top}.")}
    return {layer(m if m in known else m.rpartition(".")[0]) for m in found} - {"__version__", ""}


def top_modules(top: str) -> set[str]:
    """Return the names of what a whole package imports."""
    return {m.split(".")[0] for f in TOPS[top].rglob("*.py") for m in modules(f)}


@pytest.mark.parametrize("top", TOPS)
def test_every_package_has_its_place(top: str) -> None:
    assert sorted(layers(top)) == sorted(packages(top))


@pytest.mark.parametrize(("top", "package"), [(top, p) for top in TOPS for p in sorted(packages(top))])
def test_a_package_imports_only_what_stands_before_it(top: str, package: str) -> None:
    order = layers(top)
    may = {*order[: order.index(package)], package}
    mine = [(name, path) for name, path in files(top) if layer(name) == package]
    wrong = {name: extra for name, path in mine if (extra := imports(path, top) - may)}
    assert wrong == {}


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_imports_no_other(suite: str) -> None:
    # The cache's bucket is written to behind it, by what the objects suite has for that.
    may = {suite, "objects"} if suite == "alluxio" else {suite}
    prefix = "avadm_validation.suites."
    mine = (TOPS["avadm_validation"] / "suites" / suite).rglob("*.py")
    found = {m.removeprefix(prefix).split(".")[0] for f in mine for m in modules(f) if m.startswith(prefix)}
    assert found <= may


def test_acceptance_knows_nothing_of_the_installer() -> None:
    assert "avadm" not in top_modules("avadm_validation")


def test_the_platform_knows_nothing_of_the_installer_nor_the_installer_of_the_platform() -> None:
    assert not {"avadm", "avadm_validation"} & top_modules("ava")
    # But for its API's client, by which one package brings users and groups there.
    for file in TOPS["avadm"].rglob("*.py"):
        known = {m for m in modules(file) if m.split(".")[0] == "ava"}
        assert not known or file.parent.name == "platform_users", file
        assert all(m.startswith("ava.client") for m in known), file


@pytest.mark.parametrize("part", ["services", "operator", "scheduler"])
def test_the_platforms_programs_meet_in_the_database_alone(part: str) -> None:
    mine = (TOPS["ava"] / part).rglob("*.py")
    others = {"services", "api", "operator", "scheduler", "client", "cli"} - {part}
    assert {str(f) for f in mine if imports(f, "ava") & others} == set()
