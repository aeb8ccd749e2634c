import base64
import json
import string
import timeit
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avadm.remote.redact import MASK, Redactor

secrets = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=6, max_size=40)
words = st.text(string.ascii_letters + " \n\"'{}=:/", max_size=30)


@given(secrets, words, words)
def test_no_secret_survives_in_any_of_its_usual_encodings(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    for form in (
        secret,
        json.dumps(secret),
        json.dumps(json.dumps(secret)),
        base64.b64encode(secret.encode()).decode(),
        quote(secret, safe=""),
    ):
        assert form.strip('"') not in redactor.text(before + form + after)


def test_a_secret_of_several_lines_is_masked_line_by_line_too() -> None:
    redactor = Redactor(["first-line-of-key\nsecond-line-of-key"])
    assert redactor.text("x second-line-of-key y") == f"x {MASK} y"


def test_what_was_no_utf_8_can_be_written() -> None:
    assert Redactor(["sécret"]).text("caf\udce9 sécret") == f"caf? {MASK}"


def test_a_secret_that_contains_another_is_masked_whole() -> None:
    assert Redactor(["abcdef", "abcdefghij"]).text("abcdefghij") == MASK


@pytest.mark.parametrize(
    ("values", "text", "clean"),
    [
        (["abcdef", "defghi"], "x abcdefghi y", f"x {MASK} y"),
        (["abcdef", "cdef-more"], "abcdef-more", MASK),
        (["abcd", "efgh"], "abcdefgh", MASK * 2),
        (["abcde"], "abcdabcde", f"abcd{MASK}"),
    ],
)
def test_of_values_that_overlap_no_end_stays(values: list[str], text: str, clean: str) -> None:
    assert Redactor(values).text(text) == clean


def test_many_secrets_cost_no_more_than_few() -> None:
    """One expression of all forms tries each at each place: 300 secrets took 30 times as long as these ten."""
    values = [f"{n:03}-{'x' * 3}secret-{n * 7919:x}-{'y' * 8}" for n in range(300)]
    text = ("stor1 ceph-osd[1]: 17x-0 an ordinary line of a log, " * 80)[:4000] + values[250]
    few, many = Redactor(values[:10]), Redactor(values)
    assert many.text(text).endswith(MASK)

    def cost(redactor: Redactor) -> float:
        return min(timeit.repeat(lambda: redactor._without(text), number=20, repeat=5))

    assert cost(many) < 8 * cost(few)


@pytest.mark.parametrize(
    "text",
    [
        "key = AQBxd3dmAAAAABAAq2yUvqk0rXzYVb8nXoLrSg==",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
        "root:$6$saltsalt$abcdefghijklmnopqrstuvwxyz0123456789./AB:19000",
        "http://admin:b3BlbnNzaC1rZXk@proxy:3128/",
        "grafana_admin_password=b3BlbnNzaC1rZXk",
        '"api_key": "b3BlbnNzaC1rZXk"',
        "token: b3BlbnNzaC1rZXk",
    ],
)
def test_what_looks_like_a_key_is_masked_unknown_as_it_is(text: str) -> None:
    clean = Redactor().text(text)
    assert MASK in clean
    assert "b3BlbnNzaC1rZXk" not in clean
    assert "AQBxd3dm" not in clean
    assert "$6$" not in clean


@pytest.mark.parametrize(
    "text",
    [
        "ceph_osd : Prepare OSDs",
        "Missing sudo password",
        "http://10.0.0.5:3142/debian bookworm",
        "Could not get lock /var/lib/dpkg/lock-frontend",
        "ssh: connect to host 10.0.0.1 port 22: Connection refused",
    ],
)
def test_ordinary_text_stays_readable(text: str) -> None:
    assert Redactor(["", "on", None, True, 42]).text(text) == text
