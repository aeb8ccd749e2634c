"""What is wrong with a request, as data: what, where, found, wanted, remedy. Shown as a problem document (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ava.domain.compat import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

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
        """Return the fields by name."""
        return asdict(self)


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
    return ApiError(404, Problem("not-found", f"There is no {what}.", where))


def conflict(
    code: str, what: str, where: str, remedy: str = "", *, found: str = "", wanted: str = ""
) -> ApiError:
    """Return the refusal for what the present state does not allow."""
    return ApiError(409, Problem(code, what, where, found, wanted, remedy))


def taken(kind: str, name: str, found: str, code: str = "name-taken", *, remedy: str = "") -> ApiError:
    """Return the refusal for a name that an object of this kind has already; such an object is edited by default."""
    what = f"A {kind} named {name} already exists."
    remedy = remedy or f"Choose another name, or edit the {kind} {name}."
    return conflict(code, what, "name", remedy, found=found, wanted="a name that is free")
