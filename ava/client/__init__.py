"""A typed client of the API, for the command line, acceptance and users' own programs."""

import warnings
from typing import Any

from ava.client.client import Client
from ava.client.transport import Unreachable
from ava.domain.problems import ApiError, Problem

__all__ = ["ApiError", "Client", "Problem", "Unreachable"]


def __getattr__(name: str) -> Any:
    if name == "Refused":
        # The name of release 0.1; users' programs catch it.
        warnings.warn("ava.client.Refused is now ava.client.ApiError", DeprecationWarning, stacklevel=2)
        return ApiError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
