"""What the docs say is what the model says."""

import json
import shutil
from pathlib import Path

import yaml

from avadm.site.model import Site
from avadm.site.schema import schema, tables, update

ROOT = Path(__file__).parents[3]
REMEDY = "run: .venv/bin/python -m avadm.site.schema"


def test_committed_schema_is_current():
    assert json.loads((ROOT / "docs/site.schema.json").read_text()) == schema(), REMEDY


def test_documented_keys_are_current():
    assert (ROOT / "docs/site-file.md").read_text().endswith(tables()), REMEDY


def test_update_changes_nothing_that_is_current(tmp_path):
    for name in ("site-file.md", "site.schema.json"):
        shutil.copy(ROOT / "docs" / name, tmp_path)
    update(tmp_path)
    for name in ("site-file.md", "site.schema.json"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text()


def test_every_key_has_a_meaning():
    assert not [line for line in tables().splitlines() if line.endswith("|  |")]
    assert all(info.description for info in Site.model_fields.values())


def test_examples_are_of_the_schema():
    # The structure only: each key of the examples is one of the schema's.
    known = schema()["properties"]
    for path in (ROOT / "inventory").glob("*.yml"):
        assert set(yaml.safe_load(path.read_text())) <= set(known)
