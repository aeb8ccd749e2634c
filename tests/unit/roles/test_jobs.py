"""Jobs in the manifests of roles: an upgrade applies them again, so each says that this changes nothing (K11)."""

import re
from pathlib import Path

import pytest

from tests.unit.fakes.roles import ROLES

FILES = sorted(
    path
    for path in ROLES.rglob("*")
    if path.is_file() and path.suffix in (".yml", ".j2") and re.search(r"^kind: Job$", path.read_text(), re.M)
)


def test_the_only_job_brings_the_database_to_its_version():
    assert [path.relative_to(ROLES) for path in FILES] == [Path("ava/templates/migrate.yml.j2")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_job_is_marked_as_repeatable(path):
    text = path.read_text()
    assert text.count('avadm.io/repeatable: "true"') == len(re.findall(r"^kind: Job$", text, re.M))
