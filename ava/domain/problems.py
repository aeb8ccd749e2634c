"""What is wrong with a request, as data: what, where, found, wanted, remedy. Shown as a problem document (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ava.domain.compat import dataclass
from ava.domain.phrases import Phrase, as_document, from_document, noun


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. All but its code are phrases, where readers of other languages are to have their words.

    Attributes:
        code: stable, for programs: ``quota-exceeded``, ``name-invalid`` …
        what: one sentence.
        where: the field (``roles[0].replicas``) or object (``group vision``).
        found: what there is.
        wanted: what there must be.
        remedy: what to do.
    """

    code: str
    what: str
    where: str = ""
    found: str = ""
    wanted: str = ""
    remedy: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, in English."""
        return {each.name: str(getattr(self, each.name)) for each in fields(self)}

    def as_stored(self) -> dict[str, Any]:
        """Return the fields by name, and what makes the phrases among them."""
        made = {each.name: as_document(getattr(self, each.name)) for each in fields(self)}
        phrases = {name: document for name, document in made.items() if document is not None}
        return {**self.as_dict(), "phrases": phrases} if phrases else self.as_dict()


def from_stored(kept: Mapping[str, Any]) -> Problem:
    """Return a problem that was kept, by whatever version; what is not ours in it is left out."""
    phrases = kept.get("phrases")
    made = phrases if isinstance(phrases, Mapping) else {}
    names = [each.name for each in fields(Problem)]
    return Problem(**{name: from_document(str(kept.get(name, "")), made.get(name)) for name in names})


class ValidationProblems(ValueError):
    """A value that a rule refuses, with what it says: for validators, whose errors pydantic gathers."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(p.what for p in problems))
        self.problems = problems


class ApiError(Exception):
    """A request that cannot be carried out; nothing was changed.

    Attributes:
        status: HTTP status that says the same: 400, 403, 404, 409, 422, 429, 503.
        problems: all that is wrong, at least one.
    """

    def __init__(self, status: int, *problems: Problem) -> None:
        super().__init__("; ".join(p.what for p in problems))
        self.status = status
        self.problems: Sequence[Problem] = problems


def missing(what: str, where: str) -> ApiError:
    """Return the refusal for an object that is not there, or that the asking user may not know of."""
    return ApiError(404, Problem("not-found", Phrase("There is no {what}.", what=what), where))


def conflict(
    code: str, what: str, where: str, remedy: str = "", *, found: str = "", wanted: str = ""
) -> ApiError:
    """Return the refusal for what the present state does not allow."""
    return ApiError(409, Problem(code, what, where, found, wanted, remedy))


def taken(kind: str, name: str, found: str, code: str = "name-taken", *, remedy: str = "") -> ApiError:
    """Return the refusal for a name that an object of this kind has already; such an object is edited by default."""
    what = Phrase("A {kind} named {name} already exists.", kind=noun(kind), name=name)
    remedy = remedy or Phrase("Choose another name, or edit the {kind} {name}.", kind=noun(kind), name=name)
    return conflict(code, what, "name", remedy, found=found, wanted=Phrase("a name that is free"))
