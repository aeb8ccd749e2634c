"""What the model says about itself."""

from pathlib import Path

import yaml

from avadm.site.model import Site
from avadm.site.schema import schema, tables

ROOT = Path(__file__).parents[3]


def test_every_key_has_a_meaning():
    assert not [line for line in tables().splitlines() if line.endswith("|  |")]
    assert all(info.description for info in Site.model_fields.values())


def test_examples_are_of_the_schema():
    # The structure only: each key of the examples is one of the schema's.
    known = schema()["properties"]
    for path in (ROOT / "inventory").glob("*.yml"):
        assert set(yaml.safe_load(path.read_text())) <= set(known)
