"""npm packages are fetched by a lock that pins each of them and names no registry."""

import json
import shutil
from pathlib import Path

import pytest

from avadm.artifacts import npm
from avadm.artifacts.manifest import named

RECIPE = named(("ava-scripts",))[0].folder


def lock(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    return json.loads((folder / "package-lock.json").read_text())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(RECIPE, tmp_path / "recipe")
    return tmp_path / "recipe"


def test_the_recipes_lock_pins_every_package() -> None:
    assert npm.wrong(RECIPE) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("integrity"), "node_modules/uplot without a sha512"),
        (lambda p: p.update(integrity="sha1-abc"), "node_modules/uplot without a sha512"),
        (lambda p: p.update(resolved="https://registry.example/u.tgz"), "node_modules/uplot with an address"),
        (lambda p: p.update(version="1.6.0"), "uplot 1.6.32 (found 1.6.0)"),
    ],
)
def test_what_a_lock_does_not_pin_is_named(copy: Path, change, message: str) -> None:
    whole = lock(copy)
    change(whole["packages"]["node_modules/uplot"])
    (copy / "package-lock.json").write_text(json.dumps(whole))
    assert npm.wrong(copy) == [message]


def test_nothing_of_a_package_is_run() -> None:
    assert {"ci", "--ignore-scripts"} <= set(npm.COMMAND)
