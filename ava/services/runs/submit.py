"""Submission of definitions: checked whole, then stored and started in one transaction."""

from __future__ import annotations

import secrets

from ava.db.submissions import Submission
from ava.domain.model import Definition, Kind, Run, User
from ava.domain.model_services import clamp
from ava.domain.outline import size_problems
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, taken
from ava.domain.quota import never_fits
from ava.domain.spec import Spec
from ava.services import metrics
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.registry import deletions
from ava.services.registry.client import resolve_command
from ava.services.registry.repositories import resolve_user_image, user_repository
from ava.services.runs import capacity
from ava.services.runs.dependencies import predecessors
from ava.services.runs.rules import Site, problems
from ava.services.runs.rules.images import resolve_catalog_image

Body = dict[str, object]


def to_document(spec: Spec) -> Body:
    """Return a definition as it is kept."""
    return spec.model_dump(mode="json")


def check(context: Context, caller: Caller, owner: User, spec: Spec, where: str = "body.spec") -> None:
    """Return if a definition can be kept and started; ApiError 422 with all that is wrong.

    A quota is looked at as a whole here, not what is left of it: what waits is no error.
    """
    if found := wrong(context, caller, owner, spec, where):
        metrics.SUBMITS.labels("refused").inc()
        raise ApiError(422, *found)


def wrong(
    context: Context, caller: Caller, owner: User, spec: Spec, where: str = "body.spec"
) -> list[Problem]:
    """Return all that is wrong with a definition, before it is sent."""
    known, benches = context.db.submissions.context(owner.name), context.config.workbenches
    queues = {queue.name: queue for queue in known.queues}
    site = Site(
        queues,
        known.pools,
        tuple(context.config.clusters),
        tuple(known.deploy_keys),
        where=where,
        git=context.config.git,
        images=context.config.images,
        disks=benches is not None and benches.disks,
    )
    found = [*problems(spec, site), *size_problems(to_document(spec), where)]
    if known.group is not None:
        found += never_fits(spec.asks(), known.group.quota, Phrase("group {name}", name=known.group.name))
    if spec.queue in queues:
        found += never_fits(spec.asks(), queues[spec.queue].quota, Phrase("queue {name}", name=spec.queue))
    if not found:
        found += capacity.never(context, spec, queues[spec.queue].pool, site.pools, where)
    return found


def key_of(header: str | None, field: str | None) -> str | None:
    """Return the key of a creation: Idempotency-Key or ``key``; ApiError 422 where they differ or are no key."""
    if header is not None and not (1 <= len(header) <= 200 and all("!" <= c <= "~" for c in header)):
        problem = Problem(
            "key-invalid",
            Phrase("This is no key."),
            "header Idempotency-Key",
            Phrase("another text"),
            Phrase("1 to 200 printable ASCII characters without spaces"),
            Phrase("Use a random UUID."),
        )
        raise ApiError(422, problem)
    if header is not None and field is not None and header != field:
        problem = Problem(
            "key-twice",
            Phrase("Two keys are given."),
            "body.key",
            Phrase("another one than the header's"),
            Phrase("one key"),
            Phrase("Give one."),
        )
        raise ApiError(422, problem)
    return header if header is not None else field


def taken_name(context: Context, caller: Caller, kind: Kind, name: str, spec: Spec) -> list[Problem]:
    """Return what is wrong with a new definition's name: another definition of this kind has it."""
    found = context.db.definitions.list(owner=caller.me.name, kind=kind, name=name, limit=1, whole=True).items
    if not found or found[0].spec == to_document(spec):
        return []
    return list(taken(kind, name, found[0].id, "definition-exists").problems)


def submit(
    context: Context,
    caller: Caller,
    kind: Kind,
    name: str,
    spec: Spec,
    key: str | None,
    *,
    replace: bool = True,
) -> Run:
    """Store a definition and start it, both or neither; the same key again is the same run.

    Raises:
        ApiError: 409 for another definition of this name unless ``replace``, for a key that another run has, for an
            owner without a group, for a workbench that runs.
    """
    with deletions.claimed(context, caller, user_repository(context, caller, spec)):
        submission = _submission(context, caller, spec, key)
        made = context.db.submissions.create(
            caller.me.name, kind, name, submission, context.clock(), replace=replace
        )
    metrics.SUBMITS.labels("done").inc()
    return made


def start(context: Context, caller: Caller, definition: Definition, spec: Spec, key: str | None) -> Run:
    """Start a stored definition; the same key again is the same run.

    Raises:
        ApiError: 409 for a key that another run has, for an owner without a group, for a workbench that runs.
    """
    with deletions.claimed(context, caller, user_repository(context, caller, spec)):
        submission = _submission(context, caller, spec, key)
        made = context.db.submissions.start(definition.id, submission, context.clock())
    metrics.SUBMITS.labels("done").inc()
    return made


def _submission(context: Context, caller: Caller, spec: Spec, key: str | None) -> Submission:
    """Return how a definition is started: what is slow or remote is asked here, before the transaction."""
    context.rates.spend("submit", caller.me.name, "runs")
    bounded = apply_replica_bounds(spec)
    resolved = resolve_catalog_image(bounded, context.config.images)
    resolved = resolve_command(resolve_user_image(context, caller, resolved), context.registries)
    return Submission(
        key=key or f"api-{secrets.token_hex(16)}",
        document=to_document(spec),
        spec=to_document(resolved),
        asks=bounded.asks(),
        queue=spec.queue,
        priority=spec.priority,
        cluster=spec.cluster,
        after=predecessors(context, caller, spec),
    )


def apply_replica_bounds(spec: Spec) -> Spec:
    """Return a definition with as many replicas as its bounds have at the start."""
    bounds = spec.serving.scaling if spec.serving is not None else None
    if bounds is None:
        return spec
    role = spec.roles[0]
    return spec.model_copy(
        update={"roles": (role.model_copy(update={"replicas": clamp(role.replicas, bounds)}),)}
    )
