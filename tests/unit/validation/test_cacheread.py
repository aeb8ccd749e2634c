"""cacheread.py: how long files are read, and what counts as lost at the end."""

import importlib.util
from argparse import Namespace
from pathlib import Path

import pytest

import avadm_validation

TOOL = Path(avadm_validation.__file__).with_name("tools") / "cacheread.py"


@pytest.fixture
def cacheread():
    spec = importlib.util.spec_from_file_location("cacheread", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("failing", "left"), [(1, 0), (10**6, 2)], ids=["for a moment", "for good"])
def test_files_that_cannot_be_read_for_a_moment_are_not_lost(cacheread, monkeypatch, failing, left):
    taken = []

    def take(a, name):
        taken.append(name)
        return 0.001, 0, "error: [Errno 2]" if len(taken) <= 2 * failing else "1"

    monkeypatch.setattr(cacheread, "take", take)
    out = cacheread.read(Namespace(count=2, for_s=0.0, more_s=0.2))
    assert out["last_round_failed"] == left
    assert len(out["errors"]) >= 2
