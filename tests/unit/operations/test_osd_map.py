"""What ceph reports of OSDs: with and without JSON of safe-to-destroy, and what counts as a copy."""

import pytest

from avadm.catalogue import finding
from avadm.cluster.osd_map import OsdMap, OsdState, device_bytes, why_kept
from avadm.errors import AvadmError


class Ceph:
    """A cluster that gives one reply."""

    def __init__(self, reply):
        self.reply = reply

    def ceph(self, *words):
        if isinstance(self.reply, str):
            raise AvadmError(finding("ceph-command", found=self.reply, words=" ".join(words)))
        return self.reply


def reply(**lists):
    return {"safe_to_destroy": [], "active": [], "missing_stats": [], "stored_pgs": [], **lists}


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (reply(safe_to_destroy=[3]), False),
        (reply(active=[3]), True),
        (reply(missing_stats=[3]), True),
        (reply(stored_pgs=[3]), True),
        (reply(safe_to_destroy=[4]), True),
        (None, True),
        ("Error EBUSY: OSD(s) 3 have 4 pgs currently mapped to them. ", True),
        ("Error EAGAIN: 3 pgs have unknown state; cannot draw any conclusions", True),
    ],
)
def test_only_what_the_managers_call_safe_is(found, kept):
    assert bool(why_kept(Ceph(found), 3)) is kept


def test_a_cluster_that_cannot_be_asked_is_no_answer():
    with pytest.raises(AvadmError):
        why_kept(Ceph("[errno 110] RADOS timed out"), 3)


@pytest.mark.parametrize(
    ("states", "unfound", "lost"),
    [
        ({"active+clean": 3, "active+undersized+degraded": 2}, 0, False),
        ({"active+clean+scrubbing": 3}, 0, False),
        ({"active+clean": 3}, 1, True),
        ({"active+clean": 3, "stale+active+clean": 1}, 0, True),
        ({"peering": 1}, 0, True),
        ({"down": 1}, 0, True),
        ({"incomplete": 1}, 0, True),
        ({"unknown": 1}, 0, True),
        ({"activating": 1}, 0, True),
    ],
)
def test_what_has_no_complete_copy(states, unfound, lost):
    assert bool(OsdMap("f", {}, states, 0, unfound).without_copy) is lost


def test_the_size_is_that_of_the_device_or_below_that_of_the_weight():
    osd = OsdState(3, "a", "u", False, True, True, "ssd", 0.00977)
    assert device_bytes(Ceph({"bluestore_bdev_size": "10737418240"}), osd) == 10737418240
    assert 10.7e9 < device_bytes(Ceph({}), osd) < 0.00977 * (1 << 40)
