"""A typed client of the API, for the command line, acceptance and users' own programs."""

from ava.client.client import Client
from ava.client.transport import Unreachable
from ava.domain.problems import Problem, ApiError

__all__ = ["Client", "Problem", "ApiError", "Unreachable"]
