"""TF_CONFIG: how TensorFlow's processes learn who else there is.

As tf.estimator's RunConfig reads it (tensorflow_estimator/python/estimator/run_config.py) and tf.distribute's
TFConfigClusterResolver: ``cluster`` maps a job to its addresses, ``task`` says which of them this process is. The evaluator
is no part of the cluster; a cluster with parameter servers has exactly one chief (or master); without a cluster the
task is worker 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ava.operator.manifests.hostfile import Member

PORT = 2222
CHIEFS = ("chief", "master")
EVALUATOR = "evaluator"


def tf_config(
    members: Sequence[Member], role: str, index: int, port: int = PORT, *, chief: bool = True
) -> str:
    """Return the value for one pod of a run.

    Where there are parameter servers and no chief, worker 0 is the chief and the others move up by one: RunConfig refuses such a
    cluster without. With ``chief`` false the workers stay as they are, for programs that do not use RunConfig.

    Raises ValueError for more than one chief or for a pod that the run does not have.
    """
    if not any(m.role == role and m.index == index for m in members):
        raise ValueError(f"there is no {role} {index}")
    jobs: dict[str, list[str]] = {}
    for member in members:
        if member.role != EVALUATOR:
            jobs.setdefault(member.role, []).append(f"{member.host}:{port}")
    for name in CHIEFS:
        if len(jobs.get(name, ())) > 1:
            raise ValueError(f"a cluster has one {name}, found {len(jobs[name])}")
    task = (role, index)
    if chief and "ps" in jobs and "worker" in jobs and not any(name in jobs for name in CHIEFS):
        first, *rest = jobs.pop("worker")
        jobs["chief"] = [first]
        if rest:
            jobs["worker"] = rest
        if role == "worker":
            task = ("chief", 0) if index == 0 else ("worker", index - 1)
    report: dict[str, Any] = {"cluster": jobs, "task": {"type": task[0], "index": task[1]}}
    if len(members) == 1:
        report = {"cluster": {}, "task": {"type": "worker", "index": 0}}
    return json.dumps(report, separators=(",", ":"))
