"""What the docs say of a file of people is what the model says."""

import json
from pathlib import Path

import yaml

from avadm.platform_users.load import load
from avadm.platform_users.schema import schema, tables

DOCS = Path(__file__).parents[3] / "docs"
REMEDY = "run: .venv/bin/python -m avadm.platform_users.schema"


def test_the_committed_schema_and_tables_are_current() -> None:
    assert json.loads((DOCS / "ava-people.schema.json").read_text()) == schema(), REMEDY
    assert (DOCS / "ava-people.md").read_text().endswith(tables()), REMEDY


def test_every_key_has_a_meaning() -> None:
    assert not [line for line in tables().splitlines() if line.endswith("|  |")]


def test_the_example_of_the_page_is_good(tmp_path: Path) -> None:
    text = (DOCS / "ava-people.md").read_text().split("```yaml\n")[1].split("```")[0]
    (tmp_path / "people.yml").write_text(text.replace("AAAA… zoe", "AAAAC3NzaC1lZDI1NTE5 zoe"))
    assert load(tmp_path / "people.yml").people.users[0].name == yaml.safe_load(text)["users"][0]["name"]
