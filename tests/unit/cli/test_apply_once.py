"""One apply renders the variables once, and opens the vault and the certificates once, on a site with everything."""

import pytest
from ansible.parsing.vault import VaultLib

from avadm.artifacts import requirements
from avadm.inventory import desired
from avadm.pki.store import KeyStore
from avadm_lab import layout, sitefile

PARTS = ("objects", "cache", "logs", "database", "ava")


@pytest.fixture
def everything(playbooks, tmp_path, monkeypatch):
    """A site with every component, of which no artifact is missing."""
    config = layout.Config(name="t", parts=PARTS, masters=3)
    text = sitefile.text(config, layout.nodes(config), {}, "http://127.0.0.1:3142")
    (tmp_path / "site.yml").write_text(text)
    monkeypatch.setattr(requirements, "missing", lambda *args, **how: [])


@pytest.fixture
def counts(monkeypatch):
    """How often what is counted was called; cleared by the test."""
    found = {}

    def count(owner, name, made=lambda function: function):
        function = getattr(owner, name)

        def counted(*args, **how):
            found[name] = found.get(name, 0) + 1
            return function(*args, **how)

        monkeypatch.setattr(owner, name, made(counted))

    count(desired, "variables")
    count(VaultLib, "decrypt")
    count(KeyStore, "open", staticmethod)
    return found


@pytest.mark.usefixtures("everything")
def test_everything_is_computed_once(avadm, counts, tmp_path):
    plan = str(tmp_path / "plan.json")
    for words in (
        ("apply",),  # makes all secrets and certificates
        ("apply",),
        ("apply", "--force"),
        ("apply", "--resume"),
        ("apply", "--dry-run"),
        ("plan", "--out", plan),
        ("apply", "--plan", plan),
        ("plan", "--deep"),
        ("status",),
        ("site", "render", "--out", str(tmp_path / "inventory")),
    ):
        counts.clear()
        result = avadm(*words)
        assert result.exit_code == 0, result.output
        assert counts == {"variables": 1, "decrypt": 1, "open": 1}, words
