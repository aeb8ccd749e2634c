"""AVA's migrations as its sources have them: their order, purpose, and whether the former version can live with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from avadm import paths
from avadm.errors import DAMAGE, AvadmError

FOLDER = "ava/db/migrations/versions"
FLAG = "BACKWARD_COMPATIBLE"
CODE = "upgrade-migrations"


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration.

    Attributes:
        revision: the database's revision after it.
        before: the one before it; "" for the first.
        title: what it is for, one line.
        compatible: whether the code of the former revision reads and writes the tables correctly after it.
    """

    revision: str
    before: str
    title: str
    compatible: bool


def read(folder: Path | None = None) -> list[Migration]:
    """Return the migrations of this avadm's AVA, in order.

    Raises:
        AvadmError: there are none, or they are no single line.
    """
    folder = folder or paths.home() / FOLDER
    found = {}
    for path in sorted(folder.glob("*.py")):
        try:
            one = _parsed(path.read_text(encoding="utf-8"))
        except (*DAMAGE, SyntaxError) as error:
            raise AvadmError.of(CODE, where=str(path), found=f"{type(error).__name__}: {error}") from error
        found[one.before] = one
    ordered = list(_line(found))
    if not ordered or len(ordered) != len(list(folder.glob("*.py"))):
        raise AvadmError.of(CODE, where=str(folder), found=", ".join(m.revision for m in ordered) or "none")
    return ordered


def after(ordered: list[Migration], revision: str) -> list[Migration] | None:
    """Return the migrations that a database of a revision still needs; None where they do not know the revision."""
    known = [one.revision for one in ordered]
    return ordered[known.index(revision) + 1 :] if revision in known else None


def _line(found: dict[str, Migration]) -> Iterator[Migration]:
    at, left = "", dict(found)
    while (one := left.pop(at, None)) is not None:
        yield one
        at = one.revision


def _parsed(text: str) -> Migration:
    tree = ast.parse(text)
    values = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    title = (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".;:")
    return Migration(
        str(values["revision"]), str(values["down_revision"] or ""), title, values.get(FLAG) is True
    )
