"""What chronyd is started with is what the profile's chrony knows."""

from pathlib import Path

import pytest
import yaml

from avadm.components.base import variables as core
from avadm.site import profile as profiles
from avadm.site.model import Site
from tests.unit.fakes import sites

DEFAULTS = Path(__file__).parents[3] / "roles/chrony/defaults/main.yml"
# Distribution release to the chrony in its archive; option to the first release that knows it (chrony's NEWS).
SHIPPED = {"16.04": (2, 1), "11": (4, 0), "12": (4, 3)}
SINCE = {"-F": (2, 2), "orphan": (2, 2), "stratum": (1, 0)}


@pytest.mark.parametrize("name", profiles.names())
def test_chrony_knows_its_options(name):
    profile = profiles.load(name)
    network = {"management": "10.0.0.0/24", "domain": "demo.test"}
    site = Site.model_validate(
        {"name": "demo", "network": network, "nodes": [{"name": "a", "address": "10.0.0.1"}]}
    )
    out = sites.render(site, core, profile=name)
    have = yaml.safe_load(DEFAULTS.read_text()) | out.all
    words = f"{have['chrony_options']} {have['chrony_local']}".split()
    for option in (word for word in words if not word.isdigit()):
        assert SINCE[option] <= SHIPPED[profile.os["release"]], option
