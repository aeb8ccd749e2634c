"""Roles of a run: their names, numbers and limits, and what TensorFlow and MPI want of them."""

from __future__ import annotations

from collections import Counter

from ava.domain.phrases import Phrase
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
            Phrase("The role {name} is there {count} times.", name=name, count=count),
            f"{at}.roles",
            name,
            Phrase("each role once"),
            Phrase("Give each another name."),
        )
        for name, count in names.items()
        if count > 1
    ]
    if spec.pods() > MOST_PODS:
        found.append(
            Problem(
                "too-many-pods",
                Phrase("The run has too many pods."),
                f"{at}.roles",
                str(spec.pods()),
                Phrase("at most {most}", most=MOST_PODS),
                Phrase("Ask for fewer replicas."),
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
            Phrase("The limit of {name} is below what is asked for.", name=name),
            f"{at}.{name}_limit",
            str(limit),
            Phrase("at least {least}", least=asked),
            Phrase("Raise the limit or leave it out."),
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
                Phrase("TensorFlow knows no task type {name}.", name=name),
                f"{at}.roles",
                name,
                Phrase("one of: {names}", names=", ".join(TF_ROLES)),
                Phrase("Rename the role."),
            )
            for name in count
            if name not in TF_ROLES
        ]
        if "master" in count and "chief" in count:
            found.append(
                Problem(
                    "tf-role",
                    Phrase("There are a master and a chief."),
                    f"{at}.roles",
                    Phrase("master, chief"),
                    Phrase("one of them"),
                    Phrase("TensorFlow 1 says master, 2 chief."),
                )
            )
        if not set(count) & {"master", "chief", "worker"}:
            found.append(
                Problem(
                    "tf-role",
                    Phrase("No role trains."),
                    f"{at}.roles",
                    ", ".join(count),
                    Phrase("a master, chief or worker"),
                    Phrase("Add one."),
                )
            )
    if spec.distributed is Distributed.MPI and ("launcher" not in count or not set(count) - {"launcher"}):
        found.append(
            Problem(
                "mpi-role",
                Phrase("An MPI run has a launcher and workers."),
                f"{at}.roles",
                ", ".join(count),
                Phrase("launcher and another role"),
                Phrase("Add what is missing."),
            )
        )
    if spec.distributed is not Distributed.NONE:
        found += [
            Problem(
                "role-one",
                Phrase("There is one {name} at most.", name=name),
                f"{at}.roles",
                str(n),
                "1",
                Phrase("Ask for one replica."),
            )
            for name, n in count.items()
            if name in ONE and n != 1
        ]
    return found
