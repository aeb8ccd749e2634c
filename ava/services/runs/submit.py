"""Storing and starting: whatever is refused leaves nothing behind."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ava.services import metrics
from ava.services.runs import capacity
from ava.services.auth.caller import Caller
from ava.services.runs.dependencies import predecessors
from ava.services.registry.client import resolve_command
from ava.services.registry.repositories import resolve_user_image
from ava.services.runs.rules import Site, problems
from ava.services.runs.rules.images import resolve_catalog_image
from ava.domain.model import Definition, Kind, Run, User
from ava.domain.outline import size_problems
from ava.domain.problems import Problem, ApiError, conflict, taken
from ava.domain.quota import never_fits
from ava.domain.model_services import clamp
from ava.domain.spec import Spec

Body = dict[str, object]


def to_document(spec: Spec) -> Body:
    """Return a definition as it is kept."""
    return spec.model_dump(mode="json")


def check(who: Caller, owner: User, spec: Spec, where: str = "body.spec") -> None:
    """Return if a definition can be kept and started; ApiError 422 with all that is wrong.

    A quota is looked at as a whole here, not what is left of it: what waits is no error.
    """
    if found := wrong(who, owner, spec, where):
        metrics.SUBMITS.labels("refused").inc()
        raise ApiError(422, *found)


def wrong(who: Caller, owner: User, spec: Spec, where: str = "body.spec") -> list[Problem]:
    """Return all that is wrong with a definition, before it is sent."""
    store, benches = who.services.store, who.services.config.workbenches
    queues = {queue.name: queue for queue in store.queues()}
    site = Site(
        queues,
        store.pools(),
        tuple(who.services.config.clusters),
        # Who clones nothing needs none: one question less of each submission.
        tuple(store.keys(owner.name, "deploy")) if spec.git else (),
        where=where,
        git=who.services.config.git,
        images=who.services.config.images,
        disks=benches is not None and benches.disks,
    )
    found = [*problems(spec, site), *size_problems(to_document(spec), where)]
    if owner.default_group is not None:
        group = store.group(owner.default_group)
        found += never_fits(spec.asks(), group.quota, f"group {group.name}")
    if spec.queue in queues:
        found += never_fits(spec.asks(), queues[spec.queue].quota, f"queue {spec.queue}")
    if not found:
        found += capacity.never(who.services, spec, queues[spec.queue].pool, site.pools, where)
    return found


def key_of(header: str | None, field: str | None) -> str | None:
    """Return the key of a creation: Idempotency-Key or ``key``; ApiError 422 where they differ or are no key."""
    if header is not None and not (1 <= len(header) <= 200 and all("!" <= c <= "~" for c in header)):
        problem = Problem(
            "key-invalid",
            "This is no key.",
            "header Idempotency-Key",
            "another text",
            "1 to 200 printable ASCII characters without spaces",
            "Use a random UUID.",
        )
        raise ApiError(422, problem)
    if header is not None and field is not None and header != field:
        problem = Problem(
            "key-twice",
            "Two keys are given.",
            "body.key",
            "another one than the header's",
            "one key",
            "Give one.",
        )
        raise ApiError(422, problem)
    return header if header is not None else field


def taken_name(who: Caller, kind: Kind, name: str, spec: Spec) -> list[Problem]:
    """Return what is wrong with a new definition's name: another definition of this kind has it."""
    found = who.services.store.definitions(owner=who.me.name, kind=kind, name=name, limit=1, whole=True).items
    if not found or found[0].spec == to_document(spec):
        return []
    return list(taken(kind, name, found[0].id, "definition-exists").problems)


@contextmanager
def saved_definition(who: Caller, kind: Kind, name: str, spec: Spec, *, replace: bool = True) -> Iterator[Definition]:
    """Store a definition for what is done inside; where that is refused, it is as it was before."""
    store, clock, owner = who.services.store, who.services.clock, who.me.name
    before = store.definitions(owner=owner, kind=kind, name=name, limit=1, whole=True).items
    made = store.save_definition(owner, kind, name, to_document(spec), clock(), replace=replace)
    try:
        yield made
    except ApiError:
        # What was refused first is the answer: its run may have been made all the same, and then this is refused too.
        with suppress(ApiError):
            if not before:
                store.delete_definition(made.id, clock())
            elif before[0].spec != made.spec:
                store.save_definition(owner, kind, name, before[0].spec, clock(), replace=True)
        raise


def start(who: Caller, definition: Definition, spec: Spec, key: str | None) -> Run:
    """Make a run of a definition; the same key again is the same run.

    Raises:
        ApiError: 409 for a key that another run has, for an owner without a group, for a workbench that runs.
    """
    services = who.services
    services.rates.spend("submit", who.me.name, "runs")
    kept = to_document(resolve_command(resolve_user_image(who, resolve_catalog_image(apply_replica_bounds(spec), services.config.images)), services.registries))
    after = predecessors(who, spec)
    try:
        run = _submit(who, definition, spec, kept, key, after)
    except ApiError as refused:
        if refused.problems[0].code != "service-running":
            raise
        # A service that runs takes its new definition, and what it serves continues.
        run = services.store.update_service(refused.problems[0].found, kept, services.clock())
    service = definition.kind is Kind.SERVICE
    same = service or _same(run.spec, kept, to_document(spec))
    if run.definition != definition.id or not same:
        raise conflict(
            "key-used",
            "This key belongs to another run.",
            "Idempotency-Key",
            "Use another key for another run.",
            found=f"the key of run {run.id}",
            wanted="a key that is new, or the same request",
        )
    metrics.SUBMITS.labels("done").inc()
    return run


def _submit(
    who: Caller, definition: Definition, spec: Spec, kept: Body, key: str | None, after: Sequence[str]
) -> Run:
    services = who.services
    return services.store.submit(
        definition.id,
        key or f"api-{secrets.token_hex(16)}",
        services.clock(),
        asks=apply_replica_bounds(spec).asks(),
        spec=kept,
        queue=spec.queue,
        priority=spec.priority,
        cluster=spec.cluster,
        after=after,
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


def _same(before: Body, now: Body, said: Body) -> bool:
    """Whether two requests with one key are one; what the site filled in (image, command) may be another by now."""
    filled = {name: before[name] for name in ("image", "command") if now[name] != said[name]}
    return before == now | filled
