"""What a field has to look like is stated in words, not in the pattern that a program compares it with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from ava.domain.data_sets import Source
from ava.domain.spec import Image, Spec
from ava.schemas.common import Password, UserName
from ava.schemas.validation import EXPLAINED, problems
from tests.unit.ava.api.site import frame_of_all


def patterns(schema: Any) -> Iterator[str]:
    """Yield every pattern of a schema, of objects' keys too."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                yield value
            elif key == "patternProperties":
                yield from value
            yield from patterns(value)
    elif isinstance(schema, list):
        for one in schema:
            yield from patterns(one)


def test_every_pattern_that_a_request_may_meet_has_words() -> None:
    documents = [frame_of_all().openapi(), Spec.model_json_schema()]
    documents += [model.model_json_schema() for model in get_args(Source)]
    found = {pattern for document in documents for pattern in patterns(document)}
    assert len(found) > 10
    # Those of cookies' and links' random numbers are met by no person.
    assert {p for p in found if p not in EXPLAINED} <= {"^[0-9a-f]{64}$", "^[a-z0-9.-]+$"}


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (UserName, "No Name", "1 to 32 lower-case letters, digits and '-', a letter first, no '-' last"),
        (Image, "", "text that is not empty"),
        (Image, "a b", "an image's name, such as registry.example.org/torch:2"),
        (Password, "short", "a length of at least 12"),
        (Password, "x" * 300, "a length of at most 256"),
    ],
)
def test_what_is_wanted_is_shown_as_people_say_it(kind: Any, value: str, wanted: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(value)
    assert [p.wanted for p in problems(refused.value.errors())] == [wanted]
