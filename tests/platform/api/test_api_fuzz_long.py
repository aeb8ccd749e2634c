"""The API against many requests made from its own OpenAPI document (``AVA_FUZZ``: of each operation; 100)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.unit.ava.api.site import Site
from tests.unit.ava.api.test_api_fuzz import OPERATIONS, try_operation

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.close()


@pytest.mark.parametrize("name", OPERATIONS)
def test_many_requests_from_the_document_are_answered_as_it_says(site: Site, name: str) -> None:
    try_operation(site, name, int(os.environ.get("AVA_FUZZ", "100")))
