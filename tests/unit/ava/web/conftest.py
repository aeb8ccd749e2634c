"""An AVA with its web site for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.ava.api.site import Site
from tests.unit.ava.web.browser import web_site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = web_site(tmp_path)
    yield made
    made.close()
