"""An AVA behind a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.ava.served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()
