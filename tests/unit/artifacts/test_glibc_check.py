import io
import sys
import zipfile
from pathlib import Path

import pytest

from avadm.artifacts import glibc_check, golang, recipe
from avadm.artifacts.manifest import manifest
from avadm.errors import AvadmError
from avadm.site import profile
from tests.unit.fakes.builders import tar

# A program that is linked to this machine's C library.
PROGRAM = Path(sys.executable).resolve()


@pytest.fixture(scope="module")
def needed() -> str:
    return glibc_check.needs(PROGRAM)[PROGRAM.name]


def test_versions_are_compared_as_numbers(needed: str) -> None:
    assert glibc_check.number("2.9") < glibc_check.number("2.23") < glibc_check.number(needed or "2.24")
    assert glibc_check.number("") < glibc_check.number("2.2.5")
    assert glibc_check.floor() == "2.23" == profile.load("stated").glibc


def test_programs_in_archives_and_jars_are_found(tmp_path: Path, needed: str) -> None:
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w") as out:
        out.writestr("a/lib.so", PROGRAM.read_bytes())
        out.writestr("a/Main.class", b"\xca\xfe\xba\xbe")
    packed = tar(tmp_path / "x.tar", {"lib/x.jar": jar.getvalue(), "text": "text"})
    assert glibc_check.needs(packed) == {"x.tar/lib/x.jar/a/lib.so": needed}
    assert needed


def test_what_needs_a_newer_library_than_some_profile_has_is_no_artifact(at, monkeypatch, needed):
    (at.commands.module / "main.go").chmod(0o644)
    (at.commands.module / "main.go").write_bytes(PROGRAM.read_bytes())
    steps = '  - module: {name: example.org/thing, version: v1.2.3, sum: "h1:right", to: src}\n'
    steps += "  - build: {package: ., folder: src, output: thing}\n"
    monkeypatch.setattr(glibc_check, "floor", lambda: "2.2.5")
    with pytest.raises(AvadmError) as caught:
        at.build(steps, toolchain="go1.26.8")
    [finding] = caught.value.findings
    assert (finding.found, finding.wanted) == (f"glibc {needed}", "at most glibc 2.2.5")
    assert at.store.record(at.artifact) is None
    monkeypatch.setattr(glibc_check, "floor", lambda: needed)
    assert at.make() is not None


@pytest.mark.parametrize("name", manifest())
def test_every_recipe_links_to_what_every_profile_has(name: str) -> None:
    built = [s.action for s in recipe.load(manifest()[name].folder).steps if s.build]
    for action in built:
        assert isinstance(action, recipe.Build)
        assert glibc_check.number(action.glibc) <= glibc_check.number(glibc_check.floor())


def test_c_comes_with_the_library_that_it_is_linked_to() -> None:
    with pytest.raises(ValueError, match="come together"):
        recipe.Build(package=".", output="x", cgo=True)


def test_zig_is_asked_for_that_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert golang.linking("") == {"CGO_ENABLED": "0"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AvadmError, match="no zig"):
        golang.linking("2.23")
    monkeypatch.undo()
    assert golang.linking("2.23")["CC"].endswith("-target x86_64-linux-gnu.2.23")
