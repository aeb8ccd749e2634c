"""The lab's site files with the parts that a test wants, and what nodes are asked."""

from functools import partial
from importlib import import_module

import pytest

from avadm.doctor import parts as questions
from avadm_node.probes.health import kubectl, parts, services, system
from tests.unit.fakes import labs
from tests.unit.fakes.cli import called

__all__ = ["called"]

ASKED = [
    import_module(f"avadm_node.probes.health.{name}") for name in sorted(set(questions.MODULES.values()))
]
MODULES = (*ASKED, kubectl, services, parts)


@pytest.fixture
def site(tmp_path):
    return partial(labs.site_file, tmp_path)


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
