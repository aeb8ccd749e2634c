"""Whose each pod with GPUs is, for Prometheus: what the exporter tells of a card is joined with it (A-SC9).

Which card a pod has its node alone knows (``avadm_gpu_pod`` of the device plug-in, by the pod's UID); whose the pod is, and under
which name, the operator knows. Prometheus puts the two together (recorded as ``run:gpu_utilization:percent``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ava.domain import labels
from ava.kube.client import Object
from ava.operator.manifests.pod import KIND, NAME

MOST = 5000
"""Series that are exported: of a process that tells more than the site takes, Prometheus would keep nothing."""
_OVER = frozenset({"Succeeded", "Failed"})
_NAMES = ("pod_uid", "run", "user", "group", "name", "kind")


class RunInfo(Collector):
    """The series ``ava_run_info``, recreated each time that it is asked for.

    Attributes:
        pods: gives the pods as they are known now; none where this process does not lead.
    """

    def __init__(self) -> None:
        self.pods: Callable[[], Iterable[Object]] = tuple

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Tell of each pod that has GPUs and a node, and has not ended."""
        found = GaugeMetricFamily("ava_run_info", "1 for each pod with GPUs: whose it is", labels=_NAMES)
        report = 0
        for pod in self.pods():
            if report < MOST and _has_gpus(pod):
                found.add_metric(_values(pod), 1)
                report += 1
        yield found


def _has_gpus(pod: Object) -> bool:
    spec, phase = pod["spec"], (pod.get("status") or {}).get("phase")
    asks = ((c.get("resources") or {}).get("limits") or {} for c in spec.get("containers") or ())
    return bool(spec.get("nodeName")) and phase not in _OVER and any(labels.GPU in one for one in asks)


def _values(pod: Object) -> list[str]:
    meta = pod["metadata"]
    marks, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    reports = [marks.get(key, "") for key in (labels.RUN, labels.OWNER, labels.GROUP)]
    return [meta["uid"], *reports, notes.get(NAME, ""), marks.get(KIND, "")]
