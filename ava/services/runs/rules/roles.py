"""Roles of a run: their names, numbers and limits, and what TensorFlow and MPI want of them."""

from __future__ import annotations

from collections import Counter

from ava.domain.problems import Problem
from ava.domain.spec import Distributed, Role, Spec

MOST_PODS = 1024
"""Pods of one run."""
ONE = ("master", "chief", "evaluator", "launcher")
"""Roles of which there is one pod."""
TF_ROLES = ("ps", "master", "chief", "worker", "evaluator")
"""Task types that TF_CONFIG knows (tf.estimator)."""


def roles(spec: Spec, at: str) -> list[Problem]:
    """Return what is wrong with the roles by themselves."""
    names = Counter(role.name for role in spec.roles)
    found = [
        Problem(
            "role-twice",
            f"The role {name} is there {count} times.",
            f"{at}.roles",
            name,
            "each role once",
            "Give each another name.",
        )
        for name, count in names.items()
        if count > 1
    ]
    if spec.pods() > MOST_PODS:
        found.append(
            Problem(
                "too-many-pods",
                "The run has too many pods.",
                f"{at}.roles",
                str(spec.pods()),
                f"at most {MOST_PODS}",
                "Ask for fewer replicas.",
            )
        )
    for i, role in enumerate(spec.roles):
        found += _limits(role, f"{at}.roles[{i}].each")
    return found


def _limits(role: Role, at: str) -> list[Problem]:
    pairs = (
        ("cpu", role.each.cpu, role.each.cpu_limit),
        ("memory", role.each.memory, role.each.memory_limit),
    )
    return [
        Problem(
            "limit-below-request",
            f"The limit of {name} is below what is asked for.",
            f"{at}.{name}_limit",
            str(limit),
            f"at least {asked}",
            "Raise the limit or leave it out.",
        )
        for name, asked, limit in pairs
        if limit is not None and limit < asked
    ]


def distributed(spec: Spec, at: str) -> list[Problem]:
    """Return what is wrong with the roles for a distributed run."""
    count = {role.name: role.replicas for role in spec.roles}
    found = []
    if spec.distributed is Distributed.TENSORFLOW:
        found += [
            Problem(
                "tf-role",
                f"TensorFlow knows no task type {name}.",
                f"{at}.roles",
                name,
                f"one of: {', '.join(TF_ROLES)}",
                "Rename the role.",
            )
            for name in count
            if name not in TF_ROLES
        ]
        if "master" in count and "chief" in count:
            found.append(
                Problem(
                    "tf-role",
                    "There are a master and a chief.",
                    f"{at}.roles",
                    "master, chief",
                    "one of them",
                    "TensorFlow 1 says master, 2 chief.",
                )
            )
        if not set(count) & {"master", "chief", "worker"}:
            found.append(
                Problem(
                    "tf-role",
                    "Nobody trains.",
                    f"{at}.roles",
                    ", ".join(count),
                    "a master, chief or worker",
                    "Add one.",
                )
            )
    if spec.distributed is Distributed.MPI and ("launcher" not in count or not set(count) - {"launcher"}):
        found.append(
            Problem(
                "mpi-role",
                "An MPI run has a launcher and workers.",
                f"{at}.roles",
                ", ".join(count),
                "launcher and another role",
                "Add what is missing.",
            )
        )
    if spec.distributed is not Distributed.NONE:
        found += [
            Problem(
                "role-one",
                f"There is one {name} at most.",
                f"{at}.roles",
                str(n),
                "1",
                "Ask for one replica.",
            )
            for name, n in count.items()
            if name in ONE and n != 1
        ]
    return found
