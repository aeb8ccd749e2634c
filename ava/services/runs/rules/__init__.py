"""What a definition's fields have to do with each other and with the site; all problems of a pass together."""

from __future__ import annotations

from ava.domain.problems import Problem
from ava.domain.spec import Spec
from ava.services.runs.rules.code import git, variables
from ava.services.runs.rules.images import image
from ava.services.runs.rules.roles import distributed, roles
from ava.services.runs.rules.serving import serving
from ava.services.runs.rules.site import Site
from ava.services.runs.rules.whole import data_sets, disk, kind, named, ratios, slots


def problems(spec: Spec, site: Site) -> list[Problem]:
    """Return all that is wrong with a definition that is valid field by field."""
    at = site.where
    return [
        *kind(spec, at),
        *image(spec, site, at),
        *serving(spec, at),
        *roles(spec, at),
        *distributed(spec, at),
        *variables(spec, at),
        *(git(spec.git, site, f"{at}.git") if spec.git is not None else []),
        *data_sets(spec, at),
        *disk(spec, site, f"{at}.disk"),
        *named(spec, site),
        *ratios(spec, site),
        *slots(spec, site),
    ]


__all__ = ["Site", "problems"]
