"""Parts that several requests and answers have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WrapValidator

from ava.domain.names import email_problems, name_problems, person_problems
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, ValidationProblems
from ava.domain.resources import Count

T = TypeVar("T")
Largest = 2**53
"""JSON's largest whole number that every reader has exactly (RFC 8259)."""
LARGEST_PAGE = 500
"""Rows."""


def _by(rule: Callable[[str, str], Sequence[Problem]]) -> AfterValidator:
    """Return the validator that asks a rule of the domain."""

    def check(text: str) -> str:
        if found := rule(text, ""):
            raise ValidationProblems(found)
        return text

    return AfterValidator(check)


UserName = Annotated[
    str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$"), _by(person_problems)
]
"""As Unix has them: they are names in containers and of folders."""
GroupName = UserName
SettingName = Annotated[
    str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"), _by(name_problems)
]
"""Of queues and pools."""
Email = Annotated[str, StringConstraints(min_length=3, max_length=254), _by(email_problems)]
Password = Annotated[str, StringConstraints(min_length=12, max_length=256)]
AnyPassword = Annotated[str, StringConstraints(min_length=1, max_length=256)]
KeyName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9._]{0,98}[a-z0-9])?$"), _by(name_problems)
]
Label = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]


def _whole(value: Any, check: Callable[[Any], str]) -> str:
    return value if isinstance(value, Phrase) else check(value)


Worded = Annotated[str, WrapValidator(_whole)]
"""An English text; inside the platform's processes a phrase stays one, so that pages have their own words for it."""


class Request(BaseModel):
    """A body: types are meant exactly, unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Answer(BaseModel):
    """What is answered. A client takes fields that it does not know yet."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Paged(Answer, Generic[T]):
    """One page; ``next`` is the ``after`` of the following one, null at the end."""

    items: list[T]
    next: str | None = None


class PageQuery(BaseModel):
    """Which page of a list."""

    model_config = ConfigDict(extra="forbid")
    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE)] = 50
    after: Annotated[str, Field(max_length=1000)] | None = None


class QuotaIn(Request):
    """What may be had at once; null: no limit. CPU in thousandths of a core, memory, storage and disk in bytes."""

    gpu: Annotated[int, Field(ge=0, le=1_000_000)] | None = 0
    cpu: Annotated[int, Field(ge=0, le=Largest)] | None = 0
    memory: Annotated[int, Field(ge=0, le=Largest)] | None = 0
    storage: Annotated[int, Field(ge=0, le=Largest)] | None = None
    disk: Annotated[int, Field(ge=0, le=Largest)] | None = 0


class QuotaOut(Answer):
    """What may be had at once; null: no limit."""

    gpu: int | None
    cpu: int | None
    memory: int | None
    storage: int | None
    disk: int | None = 0


class Amounts(Answer):
    """GPUs, thousandths of a core, bytes."""

    gpu: Count
    cpu: Count
    memory: Count


class ProblemOut(Answer):
    """One thing that is wrong, or why something waits."""

    code: str
    what: Worded
    where: Worded = ""
    found: Worded = ""
    wanted: Worded = ""
    remedy: Worded = ""


class ProblemDocument(Answer):
    """RFC 9457, with every problem of the request."""

    type: str
    title: str
    status: int
    detail: str
    problems: list[ProblemOut]
