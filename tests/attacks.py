"""The rows of attacks.yml as objects of Kubernetes."""

import copy
from dataclasses import dataclass
from pathlib import Path

import yaml

NAME = "attack"


@dataclass(frozen=True)
class Attack:
    """One row.

    Attributes:
        name: what the row is called.
        object: the object that is made.
        by: a word of the reason for which it is refused.
        allowed: whether a tenant may.
        pods: whether it is taken, and its pods are refused.
        privileged: a word of who may, where that is not the administrator.
    """

    name: str
    object: dict
    by: str = ""
    allowed: bool = False
    pods: bool = False


def pod(row):
    """Return a row's pod."""
    container = {
        "name": "c",
        "image": "avadm/pause:1",
        "imagePullPolicy": "Never",
        **row.get("container", {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "annotations": row.get("annotations", {})},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [container],
            **row.get("pod", {}),
        },
    }


def attacks():
    """Return all rows."""
    rows = yaml.safe_load((Path(__file__).parent / "attacks.yml").read_text())
    return [
        Attack(
            r["name"],
            copy.deepcopy(r["object"]) if "object" in r else pod(r),
            **{k: r[k] for k in ("by", "allowed", "pods") if k in r},
        )
        for r in rows
    ]
