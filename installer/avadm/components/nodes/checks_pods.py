"""Pods: that wait, crash, were evicted, do not end, take no signal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding
from avadm.quantity import quantity

SHOWN = 20
"""Pods of one check that are reported one by one."""
LATE_S = 120
CRASHES = {"CrashLoopBackOff", "RunContainerError", "CreateContainerError", "CreateContainerConfigError"}
IMAGES = {"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName"}


def _name(pod: Any) -> str:
    return f"{pod['namespace']}/{pod['name']}" + (f" on {pod['node']}" if pod["node"] else "")


def _pending(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    waits = [
        p
        for p in data["pods"]
        # One that does not end is reported as such, whatever kubelet still calls it.
        if p["phase"] in ("Pending", "Unknown")
        and p["waiting"] not in CRASHES | IMAGES
        and (p["phase"] == "Unknown" or not p["late_s"])
    ]
    for pod in waits[:SHOWN]:
        reason = data["events"].get("FailedCreatePodSandBox", {}) if pod["node"] else {}
        reply = pod["message"] or (
            reason.get("message", "") if pod["name"] in reason.get("object", "") else ""
        )
        text = f"{pod['phase']} for {pod['age_s']} s: {pod['waiting'] or pod['reason']} {reply}".strip()
        yield warn(text, _name(pod))


def _crashing(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for pod in [p for p in data["pods"] if p["waiting"] in CRASHES][:SHOWN]:
        yield warn(
            f"{pod['waiting']}, started again {quantity(pod['restarts'], 'time')}: {pod['message']}",
            _name(pod),
        )


def _images(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for pod in [p for p in data["pods"] if p["waiting"] in IMAGES][:SHOWN]:
        yield warn(f"{pod['waiting']}: {pod['message']}", _name(pod))


def _evicted(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for pod in [p for p in data["pods"] if p["reason"] == "Evicted"][:SHOWN]:
        yield warn(f"evicted: {pod['message']}", _name(pod))
    for reason in ("EvictionThresholdMet", "FreeDiskSpaceFailed", "ImageGCFailed"):
        if reason in data["events"]:
            event = data["events"][reason]
            yield bad(f"{reason}: {event['message']}", event["object"])


def _killed(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for pod in [p for p in data["pods"] if p["killed"]][:SHOWN]:
        yield warn(
            f"killed at its memory limit, started again {quantity(pod['restarts'], 'time')}", _name(pod)
        )


def _ending(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for pod in [p for p in data["pods"] if p["late_s"] > LATE_S][:SHOWN]:
        yield warn(f"it should have ended {pod['late_s']} s ago", _name(pod))


def _mounts(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for reason in ("FailedMount", "FailedAttachVolume"):
        if reason in data["events"]:
            event = data["events"][reason]
            yield warn(
                f"{reason}, {quantity(event['count'], 'pod')} lately: {event['message']}", event["object"]
            )


def _signals(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for c in data["deaf"][:SHOWN]:
        yield warn(
            f"its first process `{c['command']}` takes no SIGTERM: a stop takes the whole grace period",
            f"{c['pod']} on {node}",
        )


_check = partial(Check, topic="pods")


def _pods(id_: str, title: str, remedy: str, judge: Any, requirement: str, good: str) -> Check:
    return _check(
        id_,
        title,
        ("kubernetes",),
        judge,
        roles=("master",),
        scope="site",
        remedy=remedy,
        requirement=requirement,
        good=good,
    )


CHECKS = (
    _pods(
        "pods-pending",
        "a pod that waits",
        "`kubectl describe pod` names the reason: no room (ask for less, add nodes), no volume (see "
        "pod-mounts), no network (see the topic network).",
        _pending,
        "K4, K12",
        "no pod waits for long",
    ),
    _pods(
        "pods-crashing",
        "a pod that starts again and again",
        "`kubectl logs --previous` and `kubectl describe pod` of it.",
        _crashing,
        "I8",
        "no pod crashes",
    ),
    _pods(
        "pods-images",
        "a pod whose image cannot be pulled",
        "See that the registry runs (topic services) and holds the image (`skopeo inspect`); a wrong name is the user's to fix.",
        _images,
        "I6",
        "every image could be had",
    ),
    _pods(
        "pods-evicted",
        "pods that were evicted, or images that cannot be removed",
        "See disk-eviction and kube-pressure for the node; give pods limits of ephemeral storage; "
        "`kubectl delete pod` removes the evicted ones.",
        _evicted,
        "K3",
        "none was evicted",
    ),
    _pods(
        "pods-memory",
        "a container that was killed at its memory limit",
        "Raise its limit, or find what it leaks; its neighbours were not touched.",
        _killed,
        "K5",
        "none was killed",
    ),
    _pods(
        "pods-ending",
        "a pod that does not end",
        "Look at `journalctl -u kubelet -e` and at hanging mounts on its node; `kubectl delete pod "
        "--grace-period=0 --force` only when the "
        "node is known to run it no more.",
        _ending,
        "K9",
        "every pod ends in time",
    ),
    _pods(
        "pod-mounts",
        "volumes that cannot be mounted",
        "The event names the volume: see the topic ceph, `journalctl -u avadm-volumes` on the master, and log-superblock.",
        _mounts,
        "K7",
        "every volume was mounted",
    ),
    _check(
        "pod-signals",
        "a container whose first process passes on no signals, so that a stop takes 30 s",
        ("containers",),
        _signals,
        roles=("master", "worker"),
        remedy="Start it under an init (tini as the image's entrypoint), or end the shell script with `exec PROGRAM`.",
        requirement="K9",
        good="first processes take SIGTERM",
    ),
)
