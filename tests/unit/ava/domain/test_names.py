"""Names, ids and addresses."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ava.domain import labels
from ava.domain.names import email_problems, is_id, name_problems, new_id, person_problems, shown

NOW = int(datetime(2026, 11, 24, tzinfo=UTC).timestamp() * 1000)
LAST = int(datetime(2063, 1, 1, tzinfo=UTC).timestamp() * 1000)


@given(st.lists(st.tuples(st.integers(NOW, LAST), st.integers(0, 2**18 - 1)), min_size=2, max_size=2))
def test_ids_sort_by_time_and_then_by_serial(moments):
    ids = [new_id("r", *moment) for moment in moments]
    assert (ids[0] < ids[1]) == (moments[0] < moments[1])
    assert (ids[0] == ids[1]) == (moments[0] == moments[1])


@given(st.sampled_from("rdugs"), st.integers(NOW, LAST), st.integers(0, 2**40))
def test_an_id_is_known_as_one_and_is_no_persons_name_and_starts_a_pods_name(prefix, milliseconds, serial):
    id = new_id(prefix, milliseconds, serial)
    assert is_id(id) and len(id) == 13
    assert "like an id" in person_problems(id, "name")[0].wanted
    assert not name_problems(id, "name"), "it meets the rule"
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", labels.pod(id, 0, "worker", 511))


def test_a_time_before_the_platform_was_thought_of_is_no_error():
    assert is_id(new_id("r", 0, 1)) and is_id(new_id("r", -5, 1))


@pytest.mark.parametrize("name", ["a", "ann", "a1", "li-wei", "a" * 32, "administrator", "p2p"])
def test_names_of_people(name):
    assert person_problems(name, "name") == ()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "1a",
        "-a",
        "a-",
        "a" * 33,
        "a_b",
        "a.b",
        "a b",
        "a\n",
        "ä",
        "a/b",
        "..",
        "a\0",
        "root",
        "me",
        "١",
    ],
)
def test_what_is_no_name_of_a_person(name):
    (problem,) = person_problems(name, "name")
    assert problem.where == "name" and problem.wanted
    assert problem.found.isprintable()


@pytest.mark.parametrize("name", ["a", "1", "resnet-50_v1.5", "a" * 200])
def test_names_of_definitions_and_queues(name):
    assert name_problems(name, "name") == ()


@pytest.mark.parametrize("name", ["", "A", ".a", "a.", "-a", "_a", "a/b", "a" * 201, "a\n", "..", "a:b"])
def test_what_is_no_name_of_a_definition(name):
    assert [p.where for p in name_problems(name, "queue")] == ["queue"]


@pytest.mark.parametrize("email", ["a@b", "ann.lee+ava@example.org", "o.x@b", "x" * 64 + "@b.org"])
def test_addresses(email):
    assert email_problems(email, "email") == ()


@pytest.mark.parametrize(
    "email",
    [
        "",
        "a",
        "@b",
        "a@",
        "a@b@c",
        "a b@c",
        "a@b c",
        "a@b\n",
        "a\0@b",
        "x" * 65 + "@b",
        "a@" + "b" * 253,
        "a@-b",
        "a@b..c",
        "<a@b>",
        "a,b@c",
        "a@b\r\nBcc: c@d",
    ],
)
def test_what_is_no_address(email):
    assert [p.code for p in email_problems(email, "email")] == ["email-invalid"]


@given(st.text())
def test_a_text_in_a_message_is_printable_and_short(text):
    assert shown(text).isprintable()
    assert len(shown(text)) < 110
