"""Why a pod is not running, as a code and what the node said; states.py says it in words."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

IMAGE = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
)
HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"})
"""Reasons that waiting does not cure."""
UNMOUNTED = "FailedMount"
"""Its node cannot mount one of the pod's volumes."""
POD_LOST = "PodLost"
NODE_LOST = "NodeLost"
LOST = frozenset({POD_LOST, NODE_LOST})
"""The pod did nothing wrong: its node or object went away."""
REFUSED = frozenset(
    {"UnexpectedAdmissionError", "MatchNodeSelector", "NodeAffinity", "HostPortConflict", "PodFitsHostPorts"}
)
"""kubelet's reasons for not taking a pod that was bound to its node; beside them ``OutOfcpu``, ``OutOfpods`` and the like."""
CANNOT_RUN = "ContainerCannotRun"
_INIT_FAILED = re.compile(r"^\[FATAL [^\]]*\] exec .* failed: ", re.MULTILINE)
"""The message of a container's init process that could not execute the command. A shell's own 126 and 127 come without it."""
_SAID = 500
"""Characters of a message that are kept."""


class Why(NamedTuple):
    """A reason.

    Attributes:
        code: Kubernetes' own word; empty where there is nothing to explain.
        text: what the node or the scheduler said about it.
        exit_code: of the process; None where none ended.
    """

    code: str = ""
    text: str = ""
    exit_code: int | None = None


def ended(terminated: dict[str, Any], memory: int | None = None) -> Why:
    """Explain a container's ``terminated`` state; ``memory`` is its limit in bytes."""
    code = int(terminated.get("exitCode", 0))
    reason = str(terminated.get("reason") or "")
    if terminated.get("signal"):
        code = 128 + int(terminated["signal"])
    said = _cut(terminated.get("message"))
    if reason == "OOMKilled":
        return Why(reason, f"limit {memory / 2**30:.2f} GiB" if memory else said, code)
    if code in (126, 127) and (
        reason == CANNOT_RUN or _INIT_FAILED.search(str(terminated.get("message") or ""))
    ):
        return Why(CANNOT_RUN, said or "not found in the image, or not executable", code)
    return Why(reason or ("Error" if code else "Completed"), said, code)


def waits(waiting: dict[str, Any]) -> Why:
    """Explain a container's ``waiting`` state."""
    return Why(str(waiting.get("reason") or ""), _cut(waiting.get("message")))


def refused(code: str) -> bool:
    """Return whether a pod failed because its node did not take it: nothing of it ran, and another node or moment may do."""
    return code in REFUSED or code.startswith("OutOf")


def whole(status: dict[str, Any]) -> Why | None:
    """Explain a pod that failed as a whole (evicted, refused by its node, too long); None where a container tells why."""
    reason = str(status.get("reason") or "")
    return Why(reason, _cut(status.get("message"))) if reason else None


def _cut(said: Any) -> str:
    return str(said or "").strip()[:_SAID]
