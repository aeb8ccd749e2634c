"""The pages that scripts make of the code and of the tests' data are what stands in docs."""

import pytest

from tests.unit.fakes.scripts import ROOT, load


@pytest.mark.parametrize("name", ["reference", "doctor-table", "risks-table", "ports-table"])
def test_a_committed_page_is_current(name, monkeypatch):
    monkeypatch.setattr("sys.argv", [name, "--check"])
    assert load(f"scripts/{name}").main() == 0, "run make reference"


@pytest.mark.parametrize("name", ["bad-input", "negative-controls"])
def test_a_page_of_the_tests_data_is_current(name):
    made = load(f"scripts/{name}")
    assert made.TARGET.read_text(encoding="utf-8") == made.page(), "run make reference"


def test_every_role_and_verb_has_its_part():
    roles = (ROOT / "docs/reference/roles.md").read_text(encoding="utf-8")
    verbs = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    there = [r.name for r in (ROOT / "roles").iterdir() if r.is_dir()]
    assert [name for name in there if f"\n## {name}\n" not in roles] == []
    for verb in ("apply", "lab up", "site check", "runs show", "accept verify"):
        assert f"## `avadm {verb}`" in verbs
