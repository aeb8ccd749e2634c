"""What kubelet tells of a container that waits: what passes by itself fails no run at one look, and nothing waits for ever."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from ava.domain.pod_status import merge, read, settle

ROWS = yaml.safe_load((Path(__file__).parent / "kubelet_reasons.yml").read_text())
SHOWN = [row for row in ROWS if row["does"] != "never"]
KUBELET = Path.home() / "go/pkg/mod/k8s.io/kubernetes@v1.9.11/pkg/kubelet"
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
IMAGE, START = 600, 300


def waiting(reason: str, text: str = "") -> dict[str, object]:
    # Its node took it an hour ago: what was slow before is no reason to give up at once.
    status = {
        "phase": "Pending",
        "startTime": "2026-11-26T11:00:00Z",
        "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": text}}}],
    }
    return {"metadata": {"name": "p", "labels": {}}, "spec": {"nodeName": "n"}, "status": status}


def after(seconds: int, *looks: tuple[int, str, str]) -> str:
    """Return the phase after looks (second, reason, text) and so many seconds."""
    known = None
    for second, reason, reply in (*looks, (seconds, *looks[-1][1:])):
        now = NOW + timedelta(seconds=second)
        merged = merge(known, read(waiting(reason, reply), now))
        assert merged is not None
        known = settle(merged, now, IMAGE, START)
    assert known is not None
    return known.phase


@pytest.mark.parametrize("row", SHOWN, ids=lambda row: f"{row['reason']}: {row['message']}"[:60])
def test_each_reason_of_kubelet(row: dict[str, str]) -> None:
    look = (0, row["reason"], row["message"])
    ends = {"hopeless": 0, "start": START + 1, "image": IMAGE + 1, "waits": 10**6}[row["does"]]
    if row["does"] != "waits":
        assert after(ends, look) == "Failed"
    if ends:
        assert after(ends - 2, look) == "Pending"


@pytest.mark.skipif(not KUBELET.is_dir(), reason="kubelet's source is there once it was built")
def test_the_table_has_all_reasons_of_kubelet() -> None:
    found = set()
    for file in ("container/sync_result.go", "images/types.go", "kuberuntime/kuberuntime_container.go"):
        found |= set(re.findall(r'errors\.New\("([A-Z]\w+)"\)', (KUBELET / file).read_text()))
    found |= set(
        re.findall(r'ContainerStateWaiting\{Reason: "(\w+)"', (KUBELET / "kubelet_pods.go").read_text())
    )
    assert found == {row["reason"] for row in ROWS if " " not in row["reason"]}


def test_changing_words_do_not_begin_the_time_again() -> None:
    conflict = [
        (n, "CreateContainerError", f"the name is in use by container {n}") for n in range(0, 300, 10)
    ]
    assert after(START - 1, *conflict) == "Pending"
    assert after(START + 1, *conflict) == "Failed"
    pulls = [(n, ("ErrImagePull", "ImagePullBackOff")[n // 60 % 2], "") for n in range(0, 600, 60)]
    assert after(IMAGE + 1, *pulls) == "Failed"


def test_what_has_passed_is_over() -> None:
    known = merge(None, read(waiting("CreateContainerConfigError", "no volume"), NOW))
    later = NOW + timedelta(seconds=200)
    running = read(waiting("CreateContainerConfigError"), later)
    merged = merge(known, replace(running, phase="Running", reason="", message=""))
    assert merged is not None
    assert settle(merged, later + timedelta(days=1), IMAGE, START).phase == "Running"


def test_an_error_in_the_place_of_a_code_is_reported_as_text() -> None:
    state = read(waiting("cpuset is busy"), NOW)
    assert (state.reason, state.message) == ("RunContainerError", "cpuset is busy")


def test_the_container_that_failed_tells_why() -> None:
    good, bad = ({"state": {"terminated": {"exitCode": code}}} for code in (0, 42))
    pod = waiting("")
    pod["status"] = {"phase": "Failed", "containerStatuses": [good, bad]}
    assert read(pod, NOW).exit_code == 42
    pod["status"] = {"phase": "Failed", "initContainerStatuses": [bad], "containerStatuses": [good]}
    assert read(pod, NOW).exit_code == 42
