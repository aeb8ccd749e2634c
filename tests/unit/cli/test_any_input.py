"""Site files that hypothesis makes of a good one: whatever stands in them, the check ends in 0 or 2 and in sentences."""

import copy
import sys
from contextlib import suppress

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from avadm.cli import main
from avadm.errors import AvadmError
from avadm.inventory.render import groups
from avadm.site.load import DRAFT, examine
from tests.unit.fakes import sites
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
        ["no", "010", "0x1f", "1e9", "~", "$(id)", "\x1b[2J", "10.0.0.1", "10.0.0.0/0", "fd00::1"]
    ),
    st.sampled_from(["", "{{ x }}", "a\nb", "é" * 70]),
)
YAMLISH = st.text("ab01:-[]{}&*!?|>#'\"%@`,. \n\t<~é\x00", max_size=60).map(str.encode)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.dates()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    """Return the paths of everything inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [p for key, one in inner for p in [(*path, key), *places(one, (*path, key))]]


PLACES = st.sampled_from(places(WHOLE))


def at(site, path):
    """Return what lies above a path."""
    for part in path[:-1]:
        site = site[part]
    return site


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Return a function: check a file as a user does; what is found good must also render."""
    path = tmp_path / "site.yml"
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)
    monkeypatch.setattr(
        main, "_unexpected", lambda error: pytest.fail(f"{error!r} for {path.read_bytes()!r}")
    )
    monkeypatch.setattr(sys, "argv", ["avadm", "site", "check", str(path)])

    def check(raw):
        path.write_bytes(raw)
        with pytest.raises(SystemExit) as ended:
            main.main()
        assert ended.value.code in (0, 2)
        assert path.read_bytes() == raw
        try:
            site_file, findings = examine(path, DRAFT)
        except AvadmError as error:
            site_file, findings = None, error.findings
        assert (site_file is None) == (ended.value.code == 2)
        assert all(f.what and "site.yml" in f.where for f in findings)
        if site_file:
            sites.rendered(site_file)
            groups(site_file.site)
        return site_file

    return lambda data: check(data if isinstance(data, bytes) else written(data))


def written(site):
    return yaml.safe_dump(site, allow_unicode=True).encode("utf-8", "surrogatepass")


def test_the_one_that_is_changed_is_good(checked):
    assert checked(WHOLE).site.waivers


@SOME
@given(path=PLACES, value=VALUES)
def test_a_value_of_another_kind(checked, path, value):
    site = copy.deepcopy(WHOLE)
    at(site, path)[path[-1]] = value
    checked(site)


@SOME
@given(out=st.lists(PLACES, min_size=1, max_size=4), twice=st.lists(PLACES, max_size=2), moved=PLACES)
def test_parts_dropped_doubled_and_moved(checked, out, twice, moved):
    site = copy.deepcopy(WHOLE)
    for path in twice:
        one = copy.deepcopy(at(WHOLE, path)[path[-1]])
        above = at(site, path)
        if isinstance(above, list):
            above.append(one)
        else:
            site.setdefault(str(path[-1]), one)
    for path in out:
        with suppress(KeyError, IndexError, TypeError, AttributeError):  # it went with what was above it
            site[str(moved[0])] = at(site, path).pop(path[-1])
    checked(site)


@SOME
@given(where=st.integers(0, len(BASE)), cut=st.integers(0, 40), put=st.binary(max_size=20) | YAMLISH)
def test_bytes_in_the_middle(checked, where, cut, put):
    raw = BASE.encode()
    checked(raw[:where] + put + raw[where + cut :])


@SOME
@given(
    key=st.sampled_from(["check", "nodes", "who", "why", "until", "other"]),
    value=VALUES | st.lists(TEXTS, max_size=3) | st.dates().map(str),
)
def test_any_waiver(checked, key, value):
    site = copy.deepcopy(WHOLE)
    site["waivers"].append(site["waivers"][0] | {key: value})
    checked(site)
