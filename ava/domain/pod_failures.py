"""Why a pod is not running, as a code and what the node reported; states.py says it in words."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

CREATING = "ContainerCreating"
"""Its node pulls its image and mounts its volumes; Kubernetes does not say which of both."""
CLONING = "CloningCode"
AWAITING = "AwaitingPeers"
STARTS = frozenset({CREATING, CLONING, AWAITING})
"""What a pod does before its command runs; no trouble."""
UNMOUNTED = "FailedMount"
"""Its node cannot mount one of the pod's volumes."""
HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""kubelet's reasons that waiting does not cure."""
IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"})
START = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError"}
)
PASSING = frozenset({*IMAGE, *START, UNMOUNTED})
"""Reasons that kubelet 1.9 tells and tries again, every ten seconds or with growing pauses: volumes and settings that it does not
know yet, a docker that is busy or restarts, a registry that is away. One look proves nothing."""
_NEVER_ROOT = "runAsNonRoot"
"""What kubelet says in CreateContainerConfigError of an image that runs as root, which no second try changes."""
POD_LOST = "PodLost"
NODE_LOST = "NodeLost"
LOST = frozenset({POD_LOST, NODE_LOST})
"""The pod did nothing wrong: its node or object went away."""
REFUSED = frozenset(
    {"UnexpectedAdmissionError", "MatchNodeSelector", "NodeAffinity", "HostPortConflict", "PodFitsHostPorts"}
)
"""kubelet's reasons for not taking a pod that was bound to its node; beside them ``OutOfcpu``, ``OutOfpods`` and the like."""
CANNOT_RUN = "ContainerCannotRun"
_INIT_FAILED = re.compile(r"^(ava-init: exec |\[FATAL [^\]]*\] exec .* failed: )", re.MULTILINE)
"""The message of a container's init process (ava-init, or tini on nodes of a previous version) that could not execute
the command. A shell's own 126 and 127 come without it."""
_MAX_MESSAGE_LENGTH = 500
"""Characters of a message that are kept."""


class FailureReason(NamedTuple):
    """A reason.

    Attributes:
        code: Kubernetes' own word; empty where there is nothing to explain.
        text: what the node or the scheduler reported about it.
        exit_code: of the process; None where none ended.
    """

    code: str = ""
    text: str = ""
    exit_code: int | None = None


def ended(terminated: dict[str, Any], memory: int | None = None) -> FailureReason:
    """Explain a container's ``terminated`` state; ``memory`` is its limit in bytes."""
    code = int(terminated.get("exitCode", 0))
    reason = str(terminated.get("reason") or "")
    if terminated.get("signal"):
        code = 128 + int(terminated["signal"])
    reply = _cut(terminated.get("message"))
    if reason == "OOMKilled":
        return FailureReason(reason, f"limit {memory / 2**30:.2f} GiB" if memory else reply, code)
    if code in (126, 127) and (
        reason == CANNOT_RUN or _INIT_FAILED.search(str(terminated.get("message") or ""))
    ):
        return FailureReason(CANNOT_RUN, reply or "not found in the image, or not executable", code)
    return FailureReason(reason or ("Error" if code else "Completed"), reply, code)


def waits(waiting: dict[str, Any]) -> FailureReason:
    """Explain a container's ``waiting`` state."""
    code = str(waiting.get("reason") or "")
    # Where a hook before the start fails, kubelet 1.9 tells its error in the place of a code.
    return (
        FailureReason(code, _cut(waiting.get("message")))
        if code.isalnum() or not code
        else FailureReason("RunContainerError", _cut(code))
    )


def hopeless(code: str, text: str) -> bool:
    """Return whether waiting does not cure why a container is not started."""
    return code in HOPELESS or (code == "CreateContainerConfigError" and _NEVER_ROOT in text)


def refused(code: str) -> bool:
    """Return whether a pod failed because its node did not take it: nothing of it ran, and another node or moment may do."""
    return code in REFUSED or code.startswith("OutOf")


def whole(status: dict[str, Any]) -> FailureReason | None:
    """Explain a pod that failed as a whole (evicted, refused by its node, too long); None where a container tells why."""
    reason = str(status.get("reason") or "")
    return FailureReason(reason, _cut(status.get("message"))) if reason else None


def _cut(message: Any) -> str:
    return str(message or "").strip()[:_MAX_MESSAGE_LENGTH]
