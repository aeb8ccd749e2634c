"""Cookies that a workbench may set: none for the parent domain, however the header is written."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from ava.gateway.http.headers import COOKIE, outward, own_cookies


def passed(line: str) -> bool:
    return "Set-Cookie" in outward(CIMultiDictProxy(CIMultiDict({"Set-Cookie": line})))


@pytest.mark.parametrize(
    "line",
    [
        'a=b; "; Domain=lab.test',
        'a="x; Domain=lab.test"',
        "a=b; {; domain = lab.test",
        "a=b; HttpOnly; (; DOMAIN=lab.test; Path=/",
        "a=b; \u00e9; Domain=lab.test",
        "a=b;\tDomain\t=lab.test",
        "a=b; Domain=",
        "a=b\x0b; Secure",
        "=__Host-ava-bench=x",
        "__Host-ava-bench",
        f"{COOKIE}=x; Path=/; Secure",
        f" {COOKIE.upper()} =x",
    ],
)
def test_a_cookie_for_the_parent_domain_or_of_the_gate_is_dropped(line: str) -> None:
    assert not passed(line)


@pytest.mark.parametrize(
    "line",
    [
        "_xsrf=2|1:0|10:1; Path=/",
        "a=b, c; Expires=Thu, 26 Nov 2026 21:57:24 GMT; HttpOnly; SameSite=Lax",
        'username-x="2|1:0|44:e30=|7=="; Secure; Path=/',
        "a=; Max-Age=0",
    ],
)
def test_a_cookie_of_the_workbench_itself_passes(line: str) -> None:
    assert passed(line)


@pytest.mark.parametrize(
    "value", ["x=%C4%A0%22", "_xsrf=2%7C1%3A0", 'q="a b"', "raw=\udcc3\udca9", "n=a=b=="]
)
def test_a_cookie_of_the_workbench_reaches_it_as_it_is(value: str) -> None:
    """Neither decoded nor encoded again, and one that cannot be read is no error."""
    assert own_cookies([f"{COOKIE}=secret; {value}"]) == value
