"""Loading: files that cannot be read, lines, and that nothing but AvadmError ever comes out."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from avadm.errors import AvadmError
from avadm.platform_users.model import People
from avadm.site.errors import PATTERNS
from avadm.site.load import examine, load
from avadm.site.model import Site

BASE = (Path(__file__).parent / "base.yml").read_text()


@pytest.fixture
def site_path(tmp_path):
    path = tmp_path / "site.yml"
    path.write_text(BASE)
    return path


def test_lines_of_keys(site_path):
    where = load(site_path).where
    assert where(("network", "management")) == "site.yml:4"
    assert where(("nodes", 3, "rack")) == "site.yml:17"
    assert where(("nodes", 3, "devices", 0)) == "site.yml:14", "the nearest thing around what is not there"


def test_ssh_files_are_beside_the_site_file(site_path):
    site_file = load(site_path)
    assert site_file.ssh_key == site_path.parent / "id_ed25519"
    assert site_file.known_hosts == site_path.parent / "known_hosts"


def test_load_raises_all_findings(site_path):
    site_path.write_text(BASE.replace("name: base", "name: B").replace("10.0.0.22", "10.0.0.21"))
    with pytest.raises(AvadmError) as raised:
        load(site_path)
    assert [f.check for f in raised.value.findings] == ["wrong-value", "duplicate-address"]
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (lambda p: None, "file-missing"),
        (lambda p: p.mkdir(), "file-unreadable"),
        (lambda p: os.mkfifo(p), "file-unreadable"),
        (lambda p: p.write_bytes(b"name: x\nn: \xff\n"), "file-not-utf8"),
        (lambda p: p.write_bytes(b"#" * (5 << 20)), "file-too-large"),
        (lambda p: p.symlink_to(p), "file-unreadable"),
    ],
)
def test_unreadable(tmp_path, make, check):
    path = tmp_path / "site.yml"
    make(path)
    with pytest.raises(AvadmError) as raised:
        examine(path)
    assert [f.check for f in raised.value.findings] == [check]
    assert raised.value.exit_code == 2


def test_byte_order_mark_and_windows_lines(site_path):
    site_path.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert load(site_path).site.name == "base"


def test_words_that_yaml_1_1_would_change(site_path):
    site_path.write_text(BASE.replace(" S1}", " 0123}").replace(" S2}", " 12:30:00}"))
    site = load(site_path).site
    assert [site.node(n).devices[0].serial for n in ("s1", "s2")] == ["0123", "12:30:00"]


@pytest.mark.parametrize("text", ["a: " + "[" * 200_000, "{a: " * 50_000, "- " * 50_000, "? " * 5_000])
def test_deep_nesting_ends_in_a_finding(site_path, text):
    # libyaml's composer recurses on the C stack: without a limit before it, the interpreter crashes.
    site_path.write_text(text)
    assert {f.check for f in examine(site_path)[1]} == {"yaml-too-much"}


def patterns(value):
    """Return the patterns of a JSON schema."""
    if isinstance(value, dict):
        own = {value["pattern"]} if isinstance(value.get("pattern"), str) else set()
        return own.union(*(patterns(v) for v in value.values()))
    return set().union(*(patterns(v) for v in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("model", [Site, People])
def test_every_pattern_of_a_model_has_words(model):
    assert patterns(model.model_json_schema()) <= set(PATTERNS)


YAMLISH = st.text(alphabet="ab01:-[]{}&*!?|>#'\"%@`,. \n\t<~é\x00", max_size=60)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(YAMLISH, st.text(max_size=60), st.binary(max_size=60)))
def test_any_text(tmp_path, data):
    path = tmp_path / "site.yml"
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    with pytest.raises(AvadmError):
        load(path)
