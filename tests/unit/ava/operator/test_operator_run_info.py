"""Metrics of the owners of pods with GPUs: of those that have them now, and not too many."""

from __future__ import annotations

from typing import Any

from prometheus_client import generate_latest

from ava.operator.metrics import Metrics
from ava.operator.run_info import MOST


def pod(
    uid: str, gpu: int = 1, phase: str = "Running", node: str = "gpu1", name: str = "bert"
) -> dict[str, Any]:
    limits = {"cpu": "1", **({"nvidia.com/gpu": str(gpu)} if gpu else {})}
    return {
        "metadata": {
            "uid": uid,
            "labels": {
                "ava.io/run": "r1",
                "ava.io/owner": "ann",
                "ava.io/group": "vision",
                "ava.io/kind": "training",
            },
            "annotations": {"ava.io/name": name},
        },
        "spec": {"nodeName": node, "containers": [{"resources": {"limits": limits}}, {}]},
        "status": {"phase": phase},
    }


def series_of(*pods: dict[str, Any]) -> list[str]:
    metrics = Metrics("default")
    metrics.run_info.pods = lambda: pods
    return [
        x for x in generate_latest(metrics.registry).decode().splitlines() if x.startswith("ava_run_info")
    ]


def test_a_pod_with_gpus_is_reported_with_its_user_group_and_name() -> None:
    assert series_of(pod("u1")) == [
        'ava_run_info{group="vision",kind="training",name="bert",pod_uid="u1",run="r1",user="ann"} 1.0'
    ]


def test_who_has_no_gpu_has_ended_or_has_no_place_yet_is_not_reported_of() -> None:
    others = [pod("a", gpu=0), pod("b", phase="Succeeded"), pod("c", phase="Failed"), pod("d", node="")]
    assert series_of(*others) == []
    assert series_of() == []
    waiting = pod("e")
    del waiting["status"]
    assert len(series_of(*others, waiting)) == 1


def test_a_name_cannot_add_a_series() -> None:
    (line,) = series_of(pod("u1", name='x",run="r2"} 1\nava_run_info{run="r3'))
    assert 'run="r1"' in line
    assert "\\n" in line


def test_there_are_never_more_than_a_site_takes() -> None:
    assert len(series_of(*(pod(f"u{n}") for n in range(MOST + 10)))) == MOST


def test_who_does_not_lead_tells_nothing() -> None:
    assert b"\nava_run_info{" not in generate_latest(Metrics("default").registry)
