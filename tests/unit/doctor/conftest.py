"""The lab's site files with the parts that a test wants, and the script that nodes run."""

import base64

import pytest

from avadm.doctor.collect import probe
from avadm.lab.layout import Config, nodes
from avadm.lab.sitefile import text
from avadm.sitefile.load import load
from tests.unit.fakes.cli import called

__all__ = ["called"]

KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()


@pytest.fixture
def site(tmp_path):
    def made(parts):
        config = Config(parts=parts)
        keys = {n.name: f"ssh-ed25519 {KEY}" for n in nodes(config)}
        path = tmp_path / "site.yml"
        path.write_text(text(config, nodes(config), keys, "http://10.77.0.1:3142"))
        return load(path)

    return made


@pytest.fixture(scope="session")
def script():
    """The script's names; without PARAMS it runs nothing."""
    scope = {"__name__": "probe"}
    exec(probe(), scope)  # noqa: S102  our own script
    return scope


@pytest.fixture
def said(script, monkeypatch):
    """Return a function: have every program that a part runs say a text."""
    return lambda text: monkeypatch.setitem(script, "must", lambda *a: text)
