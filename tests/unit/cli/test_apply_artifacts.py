"""`avadm apply` refuses a phase whose artifacts are not in the cache, before anything is touched."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from avadm.artifacts.manifest import named
from avadm.artifacts.need import missing
from avadm.artifacts.store import Store
from avadm.engine import prepare
from avadm.errors import AvadmError
from avadm.plan.phases import Phase
from tests.unit.cli.test_apply_verbs import Fake, avadm, fake  # noqa: F401  fixtures

INSTALLS = Phase("ceph", "", "", (), (), (), artifacts=("kubernetes", "pause"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Play that the phase ceph installs two artifacts; return the cache, which has none."""
    store = Store(tmp_path / "cache")

    def found(phases: object) -> object:
        names = {p.name for p in phases}  # type: ignore[attr-defined]
        return missing([INSTALLS] if "ceph" in names else [], store)

    monkeypatch.setattr(prepare, "missing", found)
    return store.root


def test_a_phase_without_its_artifacts_is_refused_with_all_of_them(
    avadm: Callable[..., Result],  # noqa: F811
    fake: Fake,  # noqa: F811
    cache: Path,
    tmp_path: Path,
) -> None:
    result = avadm("apply", "-q")
    assert isinstance(result.exception, AvadmError)
    assert result.exception.exit_code == 2
    said = [(f.what, f.remedy) for f in result.exception.findings]
    versions = [
        f"{a.name} {a.version}, which ceph installs, is absent." for a in named(("kubernetes", "pause"))
    ]
    assert [what for what, _ in said] == versions
    assert all("avadm artifacts build" in remedy for _, remedy in said)
    assert fake.requests == []
    assert [p.name for p in (tmp_path / "runs").iterdir() if p.is_dir() and not p.is_symlink()] == []


def test_other_phases_do_not_need_them(avadm: Callable[..., Result], fake: Fake, cache: Path) -> None:  # noqa: F811
    assert avadm("apply", "base", "-q").exit_code == 0
    assert [r.phase for r in fake.requests] == ["base"]
