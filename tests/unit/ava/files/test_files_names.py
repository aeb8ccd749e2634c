"""Names of files: kept byte for byte, or refused with what is wrong with them."""

import os
from urllib.parse import unquote_to_bytes

import pytest

from tests.unit.ava.files.test_files_data_set_files import site  # noqa: F401 - a fixture


@pytest.mark.parametrize(
    "name",
    [
        "100%25",
        "a%252Fb",
        "3.45\N{NARROW NO-BREAK SPACE}PM",
        "a\N{NO-BREAK SPACE}b",
        "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}",
        "a\N{LINE SEPARATOR}b",
        " leading",
        "\N{LATIN SMALL LETTER E}\N{COMBINING ACUTE ACCENT}",
    ],
)
def test_a_name_is_kept_byte_for_byte(site, name):  # noqa: F811
    where = site.upload(name, 1)
    assert site.send(where, 0, b"x").status_code == 204
    assert [os.fsencode(p.name) for p in site.data.iterdir()] == [unquote_to_bytes(name)]
    (shown,) = site.ask("GET", site.id).json()["items"]
    assert site.ask("GET", f"{site.id}/content", params={"path": shown["path"]}).content == b"x"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("caf%e9", "byte 4 of a name is not UTF-8 (0xe9)"),
        ("a\x07b", "the control character U+0007"),
        ("a%2Fb", "a name with / in it"),
        ("x" * 300, "a name of 300 bytes"),
        ("a//b", "an empty name"),
    ],
)
def test_a_name_that_is_refused_is_reported_why(site, name, why):  # noqa: F811
    assert why in site.begin(name, 1).json()["problems"][0]["found"]


def test_an_empty_file_is_one(site):  # noqa: F811
    where = site.upload("a/empty", 0)
    assert site.offset(where) == 0
    assert site.send(where, 0, b"").status_code == 204
    assert (site.data / "a/empty").read_bytes() == b""
    assert site.ask("GET", f"{site.id}/content", params={"path": "a/empty"}).content == b""
