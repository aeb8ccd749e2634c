"""Whether packages are available: a package cache that turns a node away once is asked again."""

import pytest

from avadm_node.probes.preflight import packages

KNOWN = "chrony:\n  Installed: (none)\n  Candidate: 4.3\n"
BUSY = (
    "deb.example/dists/bookworm/InRelease  503  Error with cache data [IP: 10.0.0.1 3142]\nE: Failed to fetch"
)

HUNG_UP = (
    "W: Failed to fetch http://deb.example/InRelease  Error reading from server. Remote end closed connection"
)


@pytest.mark.parametrize(
    ("updates", "asked", "trouble"),
    [
        ([(100, BUSY), (0, "")], 2, False),
        ([(100, BUSY), (100, BUSY)], 2, True),
        ([(0, HUNG_UP), (0, "")], 2, False),
        ([(0, HUNG_UP), (0, HUNG_UP)], 2, True),
        ([(100, "E: Failed to fetch: Could not connect")], 1, True),
        ([(0, "")], 1, False),
    ],
    ids=["busy once", "busy", "hung up once", "hangs up", "away", "there"],
)
def test_a_busy_cache_is_asked_once_more(monkeypatch, updates, asked, trouble):
    messages = []

    def call(*argv):
        if argv[0] == "apt-get":
            messages.append(updates[len(messages)])
            return messages[-1][0], "", messages[-1][1]
        return 0, KNOWN if messages and messages[-1] == (0, "") else "", ""

    monkeypatch.setattr(packages, "call", call)
    found = packages.packages(["chrony"], [])
    assert (len(messages), found["trouble"] is not None) == (asked, trouble)
    assert found["candidates"] == {"chrony": None if trouble else "4.3"}
