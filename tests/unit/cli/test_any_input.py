"""Site files that hypothesis makes of a good one: whatever stands in them, the check ends in 0 or 2 and in sentences."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from avadm.cli import main
from avadm.render.inventory import groups, variables
from avadm.sitefile.load import load
from tests.unit.site.corpus import BASE

# The same files in every run: a file that is refused wrongly becomes a case in tests/unit/site/cases.
SOME = settings(
    max_examples=100,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WHOLE = yaml.safe_load(BASE) | {
    "ssh": {"user": "root", "port": 22},
    "packages": {"proxy": "http://10.0.0.5:3142", "sources": ["deb http://a b c"]},
    "hardware": {"mon": {"cores": 4, "disks_gib": [100]}},
    "waivers": [{"check": "os", "nodes": ["s1"], "who": "Ann", "why": "later", "until": "2999-01-31"}],
    "extra_vars": {"a": {"b": ["c"]}},
}
WHOLE["components"] |= {"monitoring": {"retention_days": 15, "webhook_url": "http://a/b"}}
WHOLE["components"]["ceph"] |= {
    "filesystem": {"name": "fs", "share": 0.1},
    "rbd_pools": [{"name": "a", "share": 0.1}],
    "config": {"osd": {"osd_max_backfills": 1}},
}
# Lines without a control character, which YAML would refuse before anything else is tried.
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12),
    st.sampled_from(
        [
            "no",
            "010",
            "0x1f",
            "1e9",
            "~",
            "{{ x }}",
            "$(id)",
            "a\nb",
            "\x1b[2J",
            "10.0.0.1",
            "fd00::1",
            "é" * 70,
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.dates()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of everything inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [p for key, one in inner for p in [(*path, key), *places(one, (*path, key))]]


PLACES = st.sampled_from(places(WHOLE))


def at(site: Any, path: tuple[Any, ...]) -> Any:
    """Return what lies above a path."""
    for part in path[:-1]:
        site = site[part]
    return site


def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """Check a file as a user does; what is found good must also render."""
    path = tmp_path / "site.yml"
    path.write_bytes(raw)
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)
    monkeypatch.setattr(main, "_unexpected", lambda error: pytest.fail(f"{error!r} for {raw!r}"))
    monkeypatch.setattr(sys, "argv", ["avadm", "site", "check", str(path)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code in (0, 2)
    assert path.read_bytes() == raw
    if ended.value.code == 0:
        site_file = load(path)
        variables(site_file)
        groups(site_file.site)


def written(site: object) -> bytes:
    return yaml.safe_dump(site, allow_unicode=True).encode("utf-8", "surrogatepass")


def test_the_one_that_is_changed_is_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked(tmp_path, monkeypatch, written(WHOLE))
    assert load(tmp_path / "site.yml").site.waivers


@SOME
@given(path=PLACES, value=VALUES)
def test_a_value_of_another_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: tuple[Any, ...], value: object
) -> None:
    site = copy.deepcopy(WHOLE)
    at(site, path)[path[-1]] = value
    checked(tmp_path, monkeypatch, written(site))


@SOME
@given(out=st.lists(PLACES, min_size=1, max_size=4), twice=st.lists(PLACES, max_size=2), moved=PLACES)
def test_parts_dropped_doubled_and_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: Any, twice: Any, moved: Any
) -> None:
    site = copy.deepcopy(WHOLE)
    for path in twice:
        one = copy.deepcopy(at(WHOLE, path)[path[-1]])
        above = at(site, path)
        if isinstance(above, list):
            above.append(one)
        else:
            site.setdefault(str(path[-1]), one)
    for path in out:
        try:
            above = at(site, path)
            site[str(moved[0])] = above.pop(path[-1])
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # it went with what was above it
    checked(tmp_path, monkeypatch, written(site))


@SOME
@given(where=st.integers(0, len(BASE)), cut=st.integers(0, 30), put=st.binary(max_size=20))
def test_bytes_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: int, cut: int, put: bytes
) -> None:
    raw = BASE.encode()
    checked(tmp_path, monkeypatch, raw[:where] + put + raw[where + cut :])


@SOME
@given(
    key=st.sampled_from(["check", "nodes", "who", "why", "until", "other"]),
    value=VALUES | st.lists(TEXTS, max_size=3) | st.dates().map(str),
)
def test_any_waiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: object) -> None:
    site = copy.deepcopy(WHOLE)
    site["waivers"].append(site["waivers"][0] | {key: value})
    checked(tmp_path, monkeypatch, written(site))
