"""New trainings, workbenches and services: the form, what the API says of it while it is filled in, store, start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from ava.domain.model import Kind
from ava.domain.phrases import Phrase, noun
from ava.domain.problems import ApiError, Problem, conflict, missing
from ava.domain.resources import Resources
from ava.schemas.data_sets import DataSetsQuery
from ava.schemas.definitions import DefinitionMake, RunMake
from ava.schemas.runs import ClusterOut, DefinitionOut, NodeOut
from ava.services import data_sets, definitions, groups, images, queues
from ava.services.auth.authorization import authorize
from ava.services.cluster import show_cluster
from ava.services.runs import runs, submit
from ava.web import definition_form, forms, labels
from ava.web.i18n import N_
from ava.web.nodes import by_model, sorted_nodes
from ava.web.request import PageRequest, Someone

routes = APIRouter()
KINDS = {plural: kind for kind, plural in labels.PLURALS.items()}
LATER = frozenset({"field-missing"})
"""Codes of problems that an unfinished form has anyway: they are reported when it is sent."""


def _like(visit: PageRequest, kind: str) -> str:
    wanted = visit.form.get("like") or visit.request.query_params.get("like") or "single"
    return wanted if kind == "training" and wanted in definition_form.ROLES else "single"


def _page(
    visit: PageRequest,
    plural: str,
    values: Any,
    like: str,
    refused: ApiError | None = None,
    *,
    again: str = "",
) -> Response:
    kind = KINDS[plural]
    report = show_cluster(visit.context, visit.caller)
    found = refused.problems if refused else ()
    return visit.page(
        "make.html",
        refused=refused,
        kind=kind,
        plural=plural,
        like=like,
        roles=definition_form.ROLES[like],
        values=values,
        again=again,
        errors=_by_field(found, like, visit.form),
        cluster=report,
        group=visit.caller.me.default_group,
        images=[
            {"value": row.name, "label": row.title or row.image}
            for row in images.list_images(visit.context, visit.caller)
            if not row.uses or kind in row.uses
        ],
        data_sets=_data_sets(visit),
        disks=bool((ways := visit.context.config.workbenches) and ways.disks),
        chosen_sets=_chosen(visit, values, "data_set"),
        written_sets=_chosen(visit, values, "data_write"),
        # Whether something is filled in that is else out of sight.
        advanced=any(values.get(name) for name in ("env", "git_url", "priority", "hours", "retries")),
        **_options(visit, report),
        **_asked(visit, None),
    )


def _data_sets(visit: PageRequest) -> list[dict[str, str]]:
    """Return the data sets that may be named: one's own by name, others by id."""
    me = visit.caller.me.name
    found = data_sets.list_data_sets(visit.context, visit.caller, DataSetsQuery(limit=200)).items
    return [{"value": d.name if d.owner == me else d.id, "name": d.name, "owner": d.owner} for d in found]


def _chosen(visit: PageRequest, values: Any, field: str) -> list[str]:
    """Return which data sets are chosen: by the form, or by the definition that is changed."""
    if visit.form:
        return visit.form.every(field)
    return str(values.get(field, "")).split()


def _options(visit: PageRequest, cluster_out: ClusterOut) -> dict[str, Any]:
    """Return what the form's lists offer, pairs of value and text; each begins with leaving it to the platform."""
    say = visit.words
    nodes = [n for n in sorted_nodes(cluster_out.nodes) if n.open]
    models = [m for m in by_model(cluster_out.nodes) if m.name]
    stored = sorted(visit.context.db.keys.list(visit.caller.me.name, "deploy"))
    return {
        "queues_options": [(q.name, q.name) for q in queues.list_queues(visit.context, visit.caller)],
        "model_options": [
            ("", say("any")),
            *((m.name, say("%(name)s (%(n)s free)", name=m.name, n=m.free)) for m in models),
        ],
        "node_options": [("", say("the best fitting one")), *((n.name, _room(visit, n)) for n in nodes)],
        "cluster_options": [(name, name) for name in cluster_out.clusters] + [("any", say("any"))],
        "deploy_options": [("", say("none")), *((name, name) for name in stored)],
        "policy_options": [(code, say(text)) for code, text in labels.POLICIES.items()],
    }


def _room(visit: PageRequest, node: NodeOut) -> str:
    """Return a node with what is free on it, on one line."""
    cores = visit.words.number(node.free.cpu / 1000)
    if node.capacity.gpu:
        reply = N_("%(name)s (%(gpu)s GPUs and %(cpu)s cores free)")
        return visit.words(reply, name=node.name, gpu=node.free.gpu, cpu=cores)
    return visit.words("%(name)s (%(cpu)s cores free)", name=node.name, cpu=cores)


def _by_field(found: Sequence[Problem], like: str, form: forms.Form) -> dict[str, list[Problem]]:
    by: dict[str, list[Problem]] = {}
    for problem in found:
        by.setdefault(definition_form.field_of(problem.where, like, form), []).append(problem)
    return by


def _new(visit: PageRequest, plural: str) -> Response:
    kind, asked = KINDS[plural], visit.request.query_params
    authorize(visit.context, visit.caller, "definitions.make")
    copied = asked.get("copy", "")
    if edited := asked.get("from") or copied:
        stored = definitions.show_definition(visit.context, visit.caller, edited)
        if stored.kind != kind or not definition_form.covers(stored.spec, kind):
            raise conflict(
                "form-too-small",
                Phrase("This definition says more than the form can show."),
                Phrase("definition {id}", id=stored.name),
                Phrase("Change it as a file: `ava submit -f FILE`."),
                found=Phrase("fields that the form has not"),
                wanted=Phrase("a definition that the form shows whole"),
            )
        if not copied:
            _own(visit, kind, edited)
        values, like = definition_form.values(stored.spec, stored.name)
        values |= {"key": forms.new_key()} | ({"name": ""} if copied else {})
        return _page(visit, plural, values, like, again="" if copied else stored.id)
    like = _like(visit, kind)
    values = dict(definition_form.START[like if kind == "training" else kind])
    values |= {"queue": "default", "key": forms.new_key()}
    values |= {name: asked[name] for name in ("node", "gpu_model", "cluster", "image") if asked.get(name)}
    return _page(visit, plural, values, like)


def _own(visit: PageRequest, kind: str, id: str) -> DefinitionOut:
    """Return a definition of one's own that is edited; 404 for another user's, and for one of another kind."""
    found = definitions.show_definition(visit.context, visit.caller, id)
    if found.owner != visit.caller.me.name or found.kind != kind:
        raise missing(Phrase("{kind} {name}", kind=noun(kind), name=id), "edit")
    return found


@routes.get("/trainings/new")
def new_training(visit: Someone) -> Response:
    """Show the form of a training."""
    return _new(visit, "trainings")


@routes.get("/workbenches/new")
def new_workbench(visit: Someone) -> Response:
    """Show the form of a workbench."""
    return _new(visit, "workbenches")


@routes.get("/services/new")
def new_service(visit: Someone) -> Response:
    """Show the form of a service."""
    return _new(visit, "services")


@routes.post("/trainings/new")
def make_training(visit: Someone) -> Response:
    """Store a training, and start it where that is asked for."""
    return _make(visit, "trainings")


@routes.post("/workbenches/new")
def make_workbench(visit: Someone) -> Response:
    """Store a workbench, and start it where that is asked for."""
    return _make(visit, "workbenches")


@routes.post("/services/new")
def make_service(visit: Someone) -> Response:
    """Store a service, and start it where that is asked for; one that runs is updated."""
    return _make(visit, "services")


def _make(visit: PageRequest, plural: str) -> Response:
    form, kind = visit.form, KINDS[plural]
    like, name, edited = _like(visit, kind), form.text("name"), form.text("edit")
    try:
        if edited:
            name = _own(visit, kind, edited).name
        plain = definition_form.spec_of(form, kind, like)
        if form.get("do") == "store":
            body = forms.as_model(DefinitionMake, {"name": name, "spec": plain, "replace": bool(edited)})
            definitions.make_definition(visit.context, visit.caller, body)
            return visit.go(f"/{plural}", done="stored")
        made = forms.as_model(
            RunMake,
            {
                "name": name,
                "spec": plain,
                "key": form.given("key") or forms.new_key(),
                "replace": bool(edited),
            },
        )
        run = runs.make_run(visit.context, visit.caller, made)
    except ApiError as refused:
        values = dict(form) | {"name": name, "key": form.given("key") or forms.new_key()}
        return _page(visit, plural, values, like, refused, again=edited)
    return visit.go(f"/runs/{run.id}", done="started")


@routes.post("/trainings/check")
def check_training(visit: Someone) -> Response:
    """Tell what the API would say of the form as it is now."""
    return _check(visit, "training")


@routes.post("/workbenches/check")
def check_workbench(visit: Someone) -> Response:
    """Tell what the API would say of the form as it is now."""
    return _check(visit, "workbench")


@routes.post("/services/check")
def check_service(visit: Someone) -> Response:
    """Tell what the API would say of the form as it is now."""
    return _check(visit, "service")


def _check(visit: PageRequest, kind: str) -> Response:
    form, like = visit.form, _like(visit, kind)
    authorize(visit.context, visit.caller, "definitions.make")
    found: list[Problem] = []
    asks = None
    try:
        plain = definition_form.spec_of(form, kind, like)
        body = forms.as_model(DefinitionMake, {"name": form.text("name"), "spec": plain})
        asks = body.spec.asks()
        found = submit.wrong(visit.context, visit.caller, visit.caller.me, body.spec)
        if not form.text("edit"):
            found = [
                *found,
                *submit.taken_name(visit.context, visit.caller, Kind(kind), body.name, body.spec),
            ]
    except ApiError as refused:
        found = list(refused.problems)
    empty = {name for name in ("name", "image") if not form.text(name)}
    found = [
        p for p in found if definition_form.field_of(p.where, like, form) not in empty and p.code not in LATER
    ]
    return visit.page(
        "check.html",
        problems=found,
        fields=forms.shown(form, empty),
        errors=_by_field(found, like, form),
        **_asked(visit, asks),
    )


def _asked(visit: PageRequest, asks: Resources | None) -> dict[str, Any]:
    """Return what the form asks for beside what the group that is charged has left."""
    name = visit.caller.me.default_group
    group = groups.show_group(visit.context, visit.caller, name) if name else None
    return {"asks": asks, "charged": group, "short": _short(asks, group)}


def _short(asks: Resources | None, group: Any) -> bool:
    """Whether the run would wait for its group's quota now."""
    if asks is None or group is None:
        return False
    parts = ("gpu", "cpu", "memory")
    return any(
        (limit := getattr(group.quota, part)) is not None
        and getattr(group.used, part) + getattr(asks, part) > limit
        for part in parts
    )
