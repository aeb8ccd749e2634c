"""An AVA for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.ava.api.site import Site


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Site]:
    """An AVA that no one has used yet."""
    made = Site(tmp_path, furnished=False)
    yield made
    made.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """An AVA with people, a group, queues and pools."""
    made = Site(tmp_path)
    yield made
    made.close()
