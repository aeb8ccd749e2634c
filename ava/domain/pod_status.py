"""What a pod's object says, and what is known of it from before, as one state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ava.domain import labels, pod_failures
from ava.domain.model import PodState

RESTARTS = f"{labels.PREFIX}/restarts"
"""Annotation: how often a pod of this place was replaced within the attempt."""
ENDED = ("Succeeded", "Failed")


def read(pod: Mapping[str, Any], now: datetime) -> PodState:
    """Return the state that a pod's object shows. Anything that the object lacks is left empty."""
    meta, spec, status = pod["metadata"], pod.get("spec", {}), pod.get("status", {})
    marks = meta.get("labels") or {}
    why = _why(spec, status)
    phase = str(status.get("phase") or "Pending")
    if status.get("reason") == "NodeLost":
        phase = "Unknown"
    if meta.get("deletionTimestamp"):
        # However it ends now, its removal was the cause.
        phase = "Terminating"
    return PodState(
        run=marks.get(labels.RUN, ""),
        pod=meta["name"],
        role=marks.get(labels.ROLE, ""),
        index=_number(marks.get(labels.INDEX)),
        attempt=_number(marks.get(labels.ATTEMPT)),
        phase=phase,
        node=spec.get("nodeName") or "",
        address=status.get("podIP") or "",
        reason=why.code,
        message=why.text,
        exit_code=why.exit_code,
        restarts=_number((meta.get("annotations") or {}).get(RESTARTS)),
        started=moment(status.get("startTime")),
        ready=phase == "Running" and is_ready(status),
        placed=_placed(status) if spec.get("nodeName") else None,
        ended=_ended(status) if phase in ENDED else None,
        seen=now,
    )


def is_ready(status: Mapping[str, Any]) -> bool:
    """Return whether a pod's status says that it is ready for requests."""
    return any(
        one.get("type") == "Ready" and one.get("status") == "True" for one in status.get("conditions") or []
    )


def merge(known: PodState | None, shown: PodState | None) -> PodState | None:
    """Return the state of a place from what the database knows and what its pod shows (None: there is no pod).

    An end stays: what a pod that is being taken away says later is no new cause. A replaced pod begins again (``restarts``).
    ``seen`` is when the state last changed; of one that waits for what may pass, since when it waits.
    """
    if shown is None:
        return known
    if known is not None and known.restarts == shown.restarts:
        if known.phase in ENDED:
            return known
        if replace(shown, seen=known.seen) == known:
            return known
        if known.phase == shown.phase and {known.reason, shown.reason} <= pod_failures.PASSING:
            return replace(shown, seen=known.seen)
    return shown


def settle(state: PodState, now: datetime, image_wait: float, start_wait: float) -> PodState:
    """Return a state as failed where what it waits for has not come in time, or never will.

    Args:
        state: as merged; ``seen`` is since when it waits.
        now: the time.
        image_wait: seconds for its image and its volumes.
        start_wait: seconds for its container to be made and started.
    """
    if state.phase != "Pending":
        return state
    patience = start_wait if state.reason in pod_failures.START else image_wait
    late = state.reason in pod_failures.PASSING and now - (state.seen or now) > timedelta(seconds=patience)
    return (
        replace(state, phase="Failed")
        if late or pod_failures.hopeless(state.reason, state.message)
        else state
    )


def _why(spec: Mapping[str, Any], status: Mapping[str, Any]) -> pod_failures.FailureReason:
    """Return the first cause: the pod's as a whole, then that of the container that failed or waits, then the scheduler's."""
    whole = pod_failures.whole(dict(status))
    if whole is not None and status.get("phase") != "Running":
        return whole
    memory = _memory(spec)
    quiet = pod_failures.FailureReason()
    for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        state = container.get("state") or {}
        if "terminated" in state:
            reply = pod_failures.ended(state["terminated"], memory)
            if reply.exit_code:
                return reply
            quiet = reply
        elif (state.get("waiting") or {}).get("reason") not in (
            None,
            "PodInitializing",
            pod_failures.CREATING,
        ):
            return pod_failures.waits(state["waiting"])
    if status.get("phase", "Pending") == "Pending":
        for condition in status.get("conditions") or []:
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                return pod_failures.FailureReason(
                    condition.get("reason") or "Unschedulable", condition.get("message") or ""
                )
        if spec.get("nodeName"):
            return pod_failures.FailureReason(_starts(status))
    return quiet if status.get("phase") in ENDED else pod_failures.FailureReason()


def _starts(status: Mapping[str, Any]) -> str:
    """Return what a pod with a node does before its command runs."""
    for container in status.get("initContainerStatuses") or []:
        if "running" in (container.get("state") or {}):
            return {"code": pod_failures.CLONING, "peers": pod_failures.AWAITING}.get(
                container.get("name", ""), pod_failures.CREATING
            )
    return pod_failures.CREATING


def _placed(status: Mapping[str, Any]) -> datetime | None:
    """Return when a pod was bound to its node; where the API server does not say, when the kubelet first saw it."""
    bound = [c for c in status.get("conditions") or [] if c.get("type") == "PodScheduled"]
    reply = bound[0].get("lastTransitionTime") if bound and bound[0].get("status") == "True" else None
    return moment(reply) or moment(status.get("startTime"))


def _ended(status: Mapping[str, Any]) -> datetime | None:
    """Return when the last container of a pod that has ended did; None where the kubelet does not say."""
    containers = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    states = [(one.get("state") or {}).get("terminated") or {} for one in containers]
    times = [time for state in states if (time := moment(state.get("finishedAt"))) is not None]
    return max(times, default=None)


def _memory(spec: Mapping[str, Any]) -> int | None:
    """Return the first container's memory limit, bytes, where it is a plain number (the operator writes no other)."""
    containers = spec.get("containers") or [{}]
    text = str(((containers[0].get("resources") or {}).get("limits") or {}).get("memory", ""))
    return int(text) if text.isdigit() else None


def _number(value: Any) -> int:
    return int(value) if str(value).isdigit() else 0


def moment(value: Any) -> datetime | None:
    """Return a time as Kubernetes writes it; None where there is none."""
    return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) if value else None
