"""The API against requests made from its own OpenAPI document: no error of ours, and every answer as the document says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.checks import (
    CHECKS,  # noqa: F401  loads them
    not_a_server_error,
)
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.unit.ava.api.site import Site, frame_of_all

CHECKED = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SHORT = 3
"""Requests of each operation; tests/platform/api/test_api_fuzz_long.py makes more."""
DOCUMENT = json.loads(json.dumps(frame_of_all().openapi()))
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=SchemathesisConfig())
OPERATIONS = {f"{o.ok().method.upper()} {o.ok().path}": o.ok() for o in SCHEMA.get_all_operations()}


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An AVA that an administrator does strange things to."""
    site = Site(tmp_path_factory.mktemp("fuzz"))
    yield site
    site.close()


def _sent(site: Site, case: Case, who: str) -> Any:
    """Return the answer to a case."""
    made = requests.Request(
        **{k: v for k, v in case.as_transport_kwargs(base_url="https://ava.test").items() if k in _KEPT}
    )
    ready = made.prepare()
    parts = urlsplit(ready.url or "")
    headers = {
        k: v
        for k, v in ready.headers.items()
        if k.lower() not in ("authorization", "cookie", "content-length", "user-agent")
    }
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    answer = site.call(ready.method or "GET", path, who, content=ready.body or b"", headers=headers)
    # httpx measures it where the answer is streamed to its end; an application in this process is not.
    answer.elapsed = timedelta(seconds=0.1)
    return answer


_KEPT = {"method", "url", "headers", "params", "json", "data", "cookies"}


def try_operation(site: Site, name: str, examples: int) -> None:
    @given(case=OPERATIONS[name].as_strategy())
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=examples == SHORT,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def attempt(case: Case) -> None:
        # What would end the test itself: a log that is followed to its run's end, one's own token, one's own rights.
        query = case.query or {}
        if query.get("follow") or name == "DELETE /api/v1/sessions/current":
            return
        if case.path_parameters and case.path_parameters.get("name") in ("root2", "me"):
            return
        answer = _sent(site, case, "root2")
        case.validate_response(answer, checks=CHECKED)

    attempt()


@pytest.mark.parametrize("name", OPERATIONS)
def test_requests_from_the_document_are_answered_as_it_says(fuzzed: Site, name: str) -> None:
    try_operation(fuzzed, name, SHORT)


def test_the_document_has_every_operation() -> None:
    assert len(OPERATIONS) >= 45
    assert all(name.split()[1].startswith("/api/v1/") for name in OPERATIONS)
