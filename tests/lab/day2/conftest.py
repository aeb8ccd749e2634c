"""What the tests of day two share: loads that are at work during a verb."""

import pytest

from avadm.site.load import load
from tests.lab.ava.bench_people import bench, gateway, people  # noqa: F401 - fixtures
from tests.lab.ava.conftest import authority, day, image_of, platform  # noqa: F401 - fixtures
from tests.lab.ava.scene import client
from tests.lab.database.conftest import database  # noqa: F401 - a fixture
from tests.lab.day2.loads.ava import ava
from tests.lab.day2.loads.database import sql
from tests.lab.day2.loads.kubernetes import kubernetes
from tests.lab.day2.loads.storage import storage
from tests.lab.day2.marks import marks, planted  # noqa: F401 - fixtures
from tests.lab.day2.recorder import recorder  # noqa: F401 - a fixture


def carried(lab):
    """Return the letters of the loads that a lab can carry."""
    parts = load(lab.site_path).site.components
    needs = {"S": lab.names("osd"), "K": lab.names("master"), "A": parts.ava, "Q": parts.database}
    return [letter for letter, part in needs.items() if part]


@pytest.fixture
def loads(lab, request):
    """Return a function that makes the loads of some letters, all by default, as far as the lab can carry them.

    Its argument ``away`` names nodes that will lose power, or that are no clients any more afterwards.
    """

    def platform_load(away):
        found = request.getfixturevalue("platform")
        trusted, ann = request.getfixturevalue("authority"), request.getfixturevalue("people").ann
        ssh = request.getfixturevalue("bench").ssh
        return ava(lambda: client(found, trusted, ann.name, 20.0), image_of(found), ssh)

    def make(letters="SKAQ", away=()):
        makers = {
            "S": lambda: storage(lab, away),
            "K": lambda: kubernetes(lab, away),
            "A": lambda: platform_load(away),
            "Q": lambda: sql(request.getfixturevalue("database"), away),
        }
        return [makers[letter]() for letter in carried(lab) if letter in letters]

    return make


@pytest.fixture(scope="module")
def drains(lab, request):
    """Words by which AVA's runs, which other tests or users left, are ended at once; none on a lab without AVA."""
    if load(lab.site_path).site.components.ava is None:
        return ()
    # One name for all sessions: it is part of the command that continues an upgrade.
    admin = "day-two-drains"
    made = request.getfixturevalue("platform").make_admin(name=admin)
    assert made.returncode == 0, made.stderr
    return ("--as", admin, "--notice", "0s", "--stop-runs")
