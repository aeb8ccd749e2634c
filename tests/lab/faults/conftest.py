"""Every fault test starts from an installed, healthy lab and leaves one."""

import pytest

from tests.lab.faults.drive import healthy, reachable


@pytest.fixture(autouse=True)
def whole(lab):
    healthy(lab)
    yield
    for node in lab.nodes:
        reachable(lab, node["name"])
    healthy(lab)
