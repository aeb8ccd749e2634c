"""What is wrong with a request to run something, before anything is looked up."""

from __future__ import annotations

from collections.abc import Sequence

from ava.domain.names import name_problems, shown
from ava.domain.problems import Problem
from ava.domain.quota import asks_problems
from ava.domain.resources import Resources

KEY_LENGTH = 200
PRIORITIES = range(1001)


def check_submission(asks: Resources, key: str, priority: int, cluster: str) -> Sequence[Problem]:
    """Return all that is wrong with the amounts, the key, the priority and the cluster's name."""
    problems = [*asks_problems(asks), *name_problems(cluster, "cluster")]
    if not isinstance(key, str) or not 0 < len(key) <= KEY_LENGTH or not key.isprintable():
        problems.append(
            Problem(
                "key-invalid",
                "The key that makes a repeated request harmless is not valid.",
                "key",
                shown(str(key)),
                f"1 to {KEY_LENGTH} printable characters",
                "Send a UUID for each run that is wanted.",
            )
        )
    if isinstance(priority, bool) or priority not in PRIORITIES:
        found, wanted = str(priority)[:40], f"an integer from 0 to {PRIORITIES[-1]}"
        problems.append(Problem("number-invalid", "The priority is out of range.", "priority", found, wanted))
    return problems
