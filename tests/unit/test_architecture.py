"""The packages import each other in one direction alone, as docs/architecture.md says."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "installer/avadm"


def layers() -> list[str]:
    """Return the packages in the order of docs/architecture.md: each imports only what stands before it."""
    text = (ROOT / "docs/architecture.md").read_text()
    block = text.split("<!-- layers -->")[1].split("```")[1]
    return block.replace("→", " ").split()


def packages() -> set[str]:
    return {p.stem for p in SOURCES.iterdir() if p.name != "__pycache__" and p.suffix in {"", ".py"}} - {
        "__init__",
        "__main__",
    }


def imports(path: Path) -> set[str]:
    """Return the packages of avadm that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [f"avadm.{a.name}" for a in node.names] if node.module == "avadm" else [node.module]
        elif isinstance(node, ast.Import):
            modules = [a.name for a in node.names]
        else:
            continue
        found |= {m.split(".")[1] for m in modules if m.startswith("avadm.")}
    return found - {"__version__"}


def test_every_package_has_its_place() -> None:
    assert sorted(layers()) == sorted(packages())


@pytest.mark.parametrize("package", sorted(packages()))
def test_a_package_imports_only_what_stands_before_it(package: str) -> None:
    order = layers()
    may = {*order[: order.index(package)], package}
    files = [SOURCES / f"{package}.py", *(SOURCES / package).rglob("*.py")]
    wrong = {str(f.relative_to(SOURCES)): extra for f in files if f.is_file() and (extra := imports(f) - may)}
    assert wrong == {}


def test_acceptance_knows_nothing_of_the_installer() -> None:
    files = (ROOT / "validation/avadm_validation").rglob("*.py")
    assert {str(f) for f in files if "avadm" in {m.split(".")[0] for m in ast_modules(f)}} == set()


def ast_modules(path: Path) -> set[str]:
    tree = ast.walk(ast.parse(path.read_text()))
    return {n.module for n in tree if isinstance(n, ast.ImportFrom) and n.module}
