"""What the model of a file of people says about itself, and the example of its page."""

from pathlib import Path

import yaml

from avadm.platform_users.load import load
from avadm.platform_users.schema import tables

DOCS = Path(__file__).parents[3] / "docs"


def test_every_key_has_a_meaning() -> None:
    assert not [line for line in tables().splitlines() if line.endswith("|  |")]


def test_the_example_of_the_page_is_good(tmp_path: Path) -> None:
    page = (DOCS / "how-to/administer-ava.md").read_text()
    text = page.partition("## Users, groups and quotas from a file")[2].split("```yaml\n")[1].split("```")[0]
    (tmp_path / "people.yml").write_text(text.replace("AAAA… zoe", "AAAAC3NzaC1lZDI1NTE5 zoe"))
    assert load(tmp_path / "people.yml").people.users[0].name == yaml.safe_load(text)["users"][0]["name"]
