"""A phrase is its English text; template and values go with it, and are kept as JSON within bounds."""

from __future__ import annotations

import copy
import json
import time

import pytest

from ava.domain.phrases import (
    DEPTH,
    Phrase,
    as_document,
    from_document,
    listed,
    noun,
    places,
    sentences,
    worded,
)
from ava.domain.problems import Problem, from_stored

GERMAN = {
    "{count} of {kind} wait.": "Es warten {count} von {kind}.",
    "queue": "Schlange",
    "{first} {second}": "{first}{second}",
}


def german(template: str) -> str:
    return GERMAN.get(template, "")


def test_a_phrase_is_its_text() -> None:
    phrase = Phrase("{count} of {kind} wait.", count=3, kind=noun("queue"))
    assert phrase == "3 of queue wait."
    assert json.dumps(phrase) == '"3 of queue wait."'
    assert type(str(phrase)) is str
    assert places(phrase.template) == ["count", "kind"]
    assert copy.deepcopy(phrase).values == phrase.values


def test_values_are_worded_too_and_other_texts_stay() -> None:
    assert worded(Phrase("{count} of {kind} wait.", count=3, kind=noun("queue")), german) == (
        "Es warten 3 von Schlange."
    )
    assert (
        worded(Phrase("{count} of {kind} wait.", count=3, kind="queue"), german) == "Es warten 3 von queue."
    )
    assert worded(Phrase("queue"), german) == "Schlange"
    assert worded("queue", german) == ""
    assert worded(Phrase("Never translated."), german) == ""


def test_texts_and_lists_are_put_in() -> None:
    assert Phrase("{names} {other}", names=["a", noun("queue")]) == "a, queue {other}"
    assert listed([Phrase("queue"), "b"]) == "queue, b"


def test_sentences_are_a_phrase_where_all_are() -> None:
    both = sentences(Phrase("One."), "", Phrase("Two."))
    assert both == "One. Two." and isinstance(both, Phrase)
    assert not isinstance(sentences(Phrase("One."), "Two."), Phrase)
    assert sentences() == ""


@pytest.mark.parametrize(
    "phrase",
    [
        Phrase("queue"),
        Phrase("{count} of {kind} wait.", count=3, kind=noun("queue")),
        Phrase("{names}", names=["a", Phrase("queue")]),
        Phrase("{text} {{x}}", text="{text} %s \U0001f600"),
    ],
)
def test_a_phrase_is_kept_as_json(phrase: Phrase) -> None:
    found = from_document(str(phrase), json.loads(json.dumps(as_document(phrase))))
    assert isinstance(found, Phrase)
    assert (found, found.template) == (phrase, phrase.template)
    assert worded(found, german) == worded(phrase, german)


def test_values_that_are_not_shown_are_not_kept() -> None:
    assert as_document(Phrase("queue", secret="x")) == {"template": "queue", "values": {}}


def test_other_texts_and_what_is_too_large_are_not_kept() -> None:
    assert as_document("queue") is None
    deep: str = Phrase("queue")
    for _ in range(DEPTH + 1):
        deep = Phrase("{text}", text=deep)
    assert as_document(deep) is None
    assert as_document(Phrase("{names}", names=["a"] * 1000)) is None


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "queue ",
        7,
        {},
        {"template": "queue"},
        {"template": ["queue"], "values": {}},
        {"template": "queue", "values": None},
        {"template": "{x}", "values": {"x": {"y": 1}}},
        {"template": "{x}", "values": {"x": 5}},
        {"template": "queues", "values": {}},
        {"template": "queue", "values": {str(n): "" for n in range(1000)}},
    ],
)
def test_what_does_not_make_the_text_is_left_out(document: object) -> None:
    found = from_document("queue", document)
    assert found == "queue" and not isinstance(found, Phrase)


def test_a_document_that_grows_costs_nothing() -> None:
    document: dict[str, object] = {"template": "{x}" * 300, "values": {"x": "x" * 300}}
    for _ in range(DEPTH - 1):
        document = {"template": "{x}" * 300, "values": {"x": document}}
    begun = time.thread_time()
    assert from_document("queue", document) == "queue"
    assert time.thread_time() - begun < 1


def test_a_problem_is_kept_with_its_phrases_and_answered_without() -> None:
    problem = Problem("x", Phrase("{count} of {kind} wait.", count=3, kind=noun("queue")), found="plain")
    assert problem.as_dict() == {
        "code": "x",
        "what": "3 of queue wait.",
        "where": "",
        "found": "plain",
        "wanted": "",
        "remedy": "",
    }
    kept = json.loads(json.dumps(problem.as_stored()))
    assert from_stored(kept) == problem
    assert worded(from_stored(kept).what, german) == "Es warten 3 von Schlange."


@pytest.mark.parametrize(
    "kept", [{}, {"what": "queue", "phrases": 3}, {"what": "queue", "phrases": {"what": [1]}, "new": 1}]
)
def test_a_problem_of_another_version_is_shown_as_it_is(kept: dict[str, object]) -> None:
    assert from_stored(kept).what == kept.get("what", "")
