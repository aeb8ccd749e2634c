"""Words for a service that could not be asked: the kind of error, a certificate that proves nothing, and no one's secret."""

from __future__ import annotations

import ssl

import httpx
import pytest

from ava.services.unavailable import cause


def test_the_kind_of_an_error_is_reported_and_not_its_text() -> None:
    assert cause(httpx.ConnectTimeout("https://ann:hunter2@id.example.org")) == "ConnectTimeout"


@pytest.mark.parametrize("how", ["text", "cause", "context"])
def test_a_certificate_that_proves_nothing_is_named(how: str) -> None:
    verify = ssl.SSLCertVerificationError("[SSL: CERTIFICATE_VERIFY_FAILED] hunter2")
    error = httpx.ConnectError(str(verify) if how == "text" else "no")
    if how == "cause":
        error.__cause__ = verify
    if how == "context":
        error.__context__ = verify
    assert cause(error) == "ConnectError: its certificate does not prove that it is the service"
