"""What is shown of a run: derived from the database's phase, what its pods do, and how fresh that knowledge is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ava.domain import pod_failures
from ava.domain.model import Kind, Outcome, Phase, PodState, Run
from ava.domain.names import shown
from ava.domain.phrases import Phrase, sentences
from ava.domain.problems import from_stored

STALE = timedelta(seconds=60)
"""The operator says that it lives every few seconds; after so long what it saw is no longer shown as true."""


class State(StrEnum):
    """What a user sees of a run."""

    QUEUED = "queued"
    """Waits for quota or its queue."""
    STARTING = "starting"
    """Admitted; not all of its pods run yet."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Its end was asked for, or all its pods have ended; it is charged until they are gone."""
    UNKNOWN = "unknown"
    """Admitted, and no one has looked at its pods lately, or Kubernetes has lost sight of one."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    ABORTED = "aborted"
    TIMED_OUT = "timed-out"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class DisplayState:
    """A run's state with the reason in a sentence, empty where there is nothing to explain."""

    state: State
    reason: str = ""


def watcher(cluster: str) -> str:
    """Return the name under which the operator of a cluster keeps its heartbeats."""
    return "operator" if cluster == "default" else f"operator/{cluster}"


ENDED = "Succeeded", "Failed"
SIGNALS = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE"}
SIGNALS |= {9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}
LAST = 64
"""The highest number of a signal: what a program itself returns beyond 128 + 64 (mpirun 255) tells of none."""
EXPLAINED = {
    "OOMKilled": Phrase("it used more memory than its limit and the kernel ended it; ask for more memory"),
    "Evicted": Phrase("its node ran short of memory or disk and evicted it"),
    "NodeLost": Phrase("its node does not answer"),
    "PodLost": Phrase("it went away without having ended"),
    "ImagePullBackOff": Phrase(
        "its image cannot be pulled; check the name, the tag and whether the registry has it"
    ),
    "ErrImagePull": Phrase(
        "its image cannot be pulled; check the name, the tag and whether the registry has it"
    ),
    pod_failures.CREATING: Phrase("its node pulls its image and mounts its folders"),
    pod_failures.CLONING: Phrase("its code is being cloned"),
    pod_failures.AWAITING: Phrase("it waits for its workers to answer by ssh"),
    "FailedMount": Phrase("its node cannot mount one of its volumes"),
    "InvalidImageName": Phrase("the name of its image is not valid"),
    "ErrImageNeverPull": Phrase("its image is not on the node and may not be pulled"),
    "CreateContainerConfigError": Phrase("its container's settings cannot be read"),
    "CreateContainerError": Phrase("its container cannot be made"),
    "RunContainerError": Phrase("its container cannot be started; check the command"),
    "ContainerCannotRun": Phrase("its container cannot be started; check the command"),
    "CrashLoopBackOff": Phrase("it ends again and again soon after its start; read its log"),
    "DeadlineExceeded": Phrase("its time limit is over"),
    "Unschedulable": Phrase("no node has enough free resources"),
    "Preempted": Phrase("it made room for something more important"),
    "UnexpectedAdmissionError": Phrase("its node could not give it what it asked for, such as a GPU"),
    "Error": Phrase("its command failed"),
}
"""Kubernetes' codes of reasons, in words."""
_POD = {
    (False, False): Phrase("Pod {role} {index}: {why}."),
    (False, True): Phrase("Pod {role} {index}: {why} ({words})."),
    (True, False): Phrase("Pod {role} {index} on {node}: {why}."),
    (True, True): Phrase("Pod {role} {index} on {node}: {why} ({words})."),
}
"""By whether its node is known, and whether that says something."""


def show(
    run: Run, pods: Sequence[PodState], now: datetime, alive: datetime | None, stale: timedelta = STALE
) -> DisplayState:
    """Return the state of a run.

    Args:
        run: as the database has it.
        pods: what the operator last saw; pods of earlier attempts are left out of account.
        now: the time.
        alive: the operator's last heartbeat, None where there never was one.
        stale: after so long without one, what pods do is not known.
    """
    if run.phase is Phase.FINISHED:
        return DisplayState(State(run.outcome or Outcome.LOST), run.reason)
    if run.phase is Phase.QUEUED:
        return DisplayState(State.QUEUED, _waits(run))
    if alive is None or now - alive > stale:
        asked = Phrase("Its end was asked for.") if run.stop is not None else ""
        return DisplayState(State.UNKNOWN, sentences(asked, _silent(now, alive)))
    if run.stop is not None:
        return DisplayState(State.STOPPING, _stopping(pods))
    if run.kind is Kind.SERVICE:
        return _service(run, pods)
    return _admitted(run, [p for p in pods if p.attempt == run.attempt])


def explain(pod: PodState) -> str:
    """Return in a sentence why a pod is not well, or how it ended; empty for one that runs or has succeeded."""
    why: str = EXPLAINED.get(
        "UnexpectedAdmissionError" if pod_failures.refused(pod.reason) else pod.reason, ""
    )
    if pod.exit_code is not None and 128 < pod.exit_code <= 128 + 64 and pod.reason in ("", "Error"):
        signal = SIGNALS.get(pod.exit_code - 128, f"signal {pod.exit_code - 128}")
        why = Phrase("it was ended by {signal}", signal=signal)
    elif pod.exit_code and pod.reason in ("", "Error"):
        why = Phrase("its command failed with exit code {code}", code=pod.exit_code)
    if not why and pod.phase in ("Failed", "Unknown"):
        why = Phrase("its node does not answer") if pod.phase == "Unknown" else Phrase("it failed")
    if not why and pod.reason and pod.phase == "Pending":
        why = Phrase("it waits ({reason})", reason=pod.reason)
    if not why:
        return ""
    words = shown(" ".join(pod.message.split()), 300)
    return Phrase(
        _POD[bool(pod.node), bool(words)], role=pod.role, index=pod.index, node=pod.node, why=why, words=words
    )


def _admitted(run: Run, pods: Sequence[PodState]) -> DisplayState:
    lost = [p for p in pods if p.phase == "Unknown" or p.reason == "NodeLost"]
    if lost:
        return DisplayState(State.UNKNOWN, _first(lost))
    wanted = _wanted(run)
    failed = [p for p in pods if p.phase == "Failed"]
    if pods and len(pods) >= wanted and all(p.phase in (*ENDED, "Terminating") for p in pods):
        return DisplayState(State.STOPPING, _first(failed))
    if len(pods) >= wanted and all(p.phase in ("Running", *ENDED) for p in pods):
        return DisplayState(State.RUNNING, _first(failed))
    waiting = [p for p in pods if p.phase not in ("Running", *ENDED)]
    again = Phrase("Attempt {number}.", number=run.attempt + 1) if run.attempt else ""
    # The scheduler's own reasons, per node and quota, say more than that no node has room.
    placed = [p for p in waiting if p.reason != "Unschedulable"]
    why = _first(failed) or _first(placed) or _waits(run) or _first(waiting) or _created(pods, wanted)
    return DisplayState(State.STARTING, sentences(again, why))


def _service(run: Run, pods: Sequence[PodState]) -> DisplayState:
    """Return the state of a service: it runs as long as one replica of any revision is ready."""
    ready, wanted = sum(p.ready for p in pods), _wanted(run)
    why = _waits(run) or _first([p for p in pods if not p.ready and p.phase != "Terminating"])
    if not ready:
        return DisplayState(State.STARTING, why)
    short = (
        Phrase("{ready} of {wanted} replicas are ready.", ready=ready, wanted=wanted)
        if ready < wanted
        else ""
    )
    return DisplayState(State.RUNNING, sentences(short, why))


def _wanted(run: Run) -> int:
    """Return how many pods a run has; 1 where its specification does not say."""
    roles = run.spec.get("roles") or [{}]
    return sum(int(role.get("replicas", 1)) for role in roles)


def _first(pods: Sequence[PodState]) -> str:
    """Return the best explanation there is, and how many more pods have one."""
    known = sorted(pods, key=lambda pod: not (pod.reason or pod.exit_code))
    messages = [text for pod in known if pod.reason not in pod_failures.STARTS and (text := explain(pod))]
    more = Phrase("{first} {count} more pods have trouble.")
    if not messages:
        messages = [text for pod in known if (text := explain(pod))]
        more = Phrase("{first} {count} more pods are starting.")
    if len(messages) > 1:
        return Phrase(more, first=messages[0], count=len(messages) - 1)
    return messages[0] if messages else ""


def _created(pods: Sequence[PodState], wanted: int) -> str:
    if len(pods) < wanted:
        return (
            Phrase("{count} of its {wanted} pods are created.", count=len(pods), wanted=wanted)
            if pods
            else Phrase("Its pods are being created.")
        )
    return ""


def _waits(run: Run) -> str:
    return sentences(*(from_stored(problem).what for problem in run.waits_for))


def _silent(now: datetime, alive: datetime | None) -> str:
    since = (
        Phrase("never")
        if alive is None
        else Phrase("for {seconds} s not", seconds=int((now - alive).total_seconds()))
    )
    return Phrase(
        "The operator has {since} reported what runs; the state of this run is unknown.", since=since
    )


def _stopping(pods: Sequence[PodState]) -> str:
    left = [p for p in pods if p.phase not in ENDED]
    if not left:
        return Phrase("Its end was asked for.")
    lost = [p for p in left if p.phase == "Unknown" or p.reason == "NodeLost"]
    asked = Phrase("Its end was asked for; {count} of its pods are there still.", count=len(left))
    return sentences(asked, _first(lost))
