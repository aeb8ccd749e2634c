"""The role matrix of Kubernetes as single trials, from rbac.yml."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import yaml

ROLES = ("viewer", "operator", "tenant")


@dataclass(frozen=True)
class Trial:
    """One thing that one role tries, and whether it may.

    Attributes:
        place: `own` (a namespace of the tenant's), `other` (any other one) or `none`.
    """

    role: str
    verb: str
    group: str
    resource: str
    subresource: str
    place: str
    may: bool

    def __str__(self):
        what = "/".join(filter(None, (self.resource, self.subresource)))
        return f"{self.role} {self.verb} {what}{self.group and '@'}{self.group} in {self.place}"


def trials():
    """Return every trial of the matrix."""
    found = []
    places = {"everywhere": ("own", "other"), "none": ("none",)}
    for row in yaml.safe_load(Path(__file__).with_suffix(".yml").read_text()):
        for verb, of, place, role in product(row["verbs"], row["of"], places[row["in"]], ROLES):
            name, _, group = of.partition("@")
            resource, _, subresource = name.partition("/")
            may = role in row["may"] and (role != "tenant" or place == "own")
            found.append(Trial(role, verb, group, resource, subresource, place, may))
    return found
