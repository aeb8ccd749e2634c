"""Whether the parts of a service go together."""

from __future__ import annotations

from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.spec import Distributed, Spec


def serving(spec: Spec, at: str) -> list[Problem]:
    """Return what is wrong with a service, beside what is wrong with any definition."""
    if spec.kind != "service" or spec.serving is None:
        return []
    found = []
    bounds, replicas = spec.serving.scaling, spec.roles[0].replicas
    if len(spec.roles) != 1 or spec.distributed is not Distributed.NONE:
        found.append(
            Problem(
                "service-roles",
                Phrase("All replicas of a service are alike."),
                f"{at}.roles",
                Phrase(
                    "{count} roles, distributed: {distributed}",
                    count=len(spec.roles),
                    distributed=spec.distributed,
                ),
                Phrase("one role"),
                Phrase("Make a service of each part."),
            )
        )
    if bounds is not None and bounds.least > bounds.most:
        found.append(
            Problem(
                "bounds",
                Phrase("The least replicas are more than the most."),
                f"{at}.serving.scaling",
                f"{bounds.least} > {bounds.most}",
                Phrase("least ≤ most"),
                Phrase("Exchange them."),
            )
        )
    elif bounds is not None and replicas not in (1, *range(bounds.least, bounds.most + 1)):
        found.append(
            Problem(
                "bounds",
                Phrase("The replicas at the start are outside of the bounds."),
                f"{at}.roles[0].replicas",
                str(replicas),
                f"{bounds.least} to {bounds.most}",
                Phrase("Leave the replicas out, or change serving.scaling."),
            )
        )
    if spec.time_limit is not None or spec.retries or spec.tensorboard:
        found.append(
            Problem(
                "field-not-allowed",
                Phrase("A service runs until it is stopped."),
                at,
                Phrase("time_limit, retries or tensorboard"),
                Phrase("none of them"),
                Phrase("Leave them out."),
            )
        )
    return found
