"""The lab's site files with the parts that a test wants, and what nodes are asked."""

import base64

import pytest

from avadm.site.load import load
from avadm_lab.layout import Config, nodes
from avadm_lab.sitefile import text
from avadm_node.probes.health import kubectl, parts, services, system
from tests.unit.fakes.cli import called

__all__ = ["called"]

KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()

MODULES = (*parts.MODULES, kubectl, services, parts)


@pytest.fixture
def site(tmp_path):
    def made(parts):
        config = Config(parts=parts)
        keys = {n.name: f"ssh-ed25519 {KEY}" for n in nodes(config)}
        path = tmp_path / "site.yml"
        path.write_text(text(config, nodes(config), keys, "http://10.77.0.1:3142"))
        return load(path)

    return made


class Names:
    """What the modules of the doctor's questions define, by name; to set one sets it in each that has it."""

    def get(self, name, default=None):
        return next((vars(m)[name] for m in MODULES if name in vars(m)), default)

    def __getitem__(self, name):
        return vars(next(m for m in MODULES if name in vars(m)))[name]

    def __setitem__(self, name, value):
        for module in (*MODULES, system):
            if name in vars(module):
                setattr(module, name, value)


@pytest.fixture(scope="session")
def script():
    return Names()


@pytest.fixture
def command_output(script, monkeypatch):
    """Return a function: have every program that a part runs say a text."""
    return lambda text: monkeypatch.setitem(script, "must", lambda *a: text)
