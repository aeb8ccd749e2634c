"""Marks of what was bootstrapped: one that is there counts, whether it can be read or not."""

import pytest
from ansible.module_utils import avadm_bootstrap_mark as marks


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (lambda path: None, None),
        (lambda path: path.write_text('{"identity": "f1"}'), "f1"),
        (lambda path: path.write_text("{"), marks.UNKNOWN),
        (lambda path: path.write_text("{}"), marks.UNKNOWN),
        (lambda path: path.mkdir(), marks.UNKNOWN),
        (lambda path: path.symlink_to("nowhere"), marks.UNKNOWN),
    ],
    ids=["none", "good", "cut off", "empty", "a folder", "a link to nowhere"],
)
def test_a_mark_that_cannot_be_read_is_a_mark(tmp_path, made, wanted):
    made(tmp_path / "etcd.json")
    assert marks.identity("etcd", str(tmp_path)) == wanted
    assert marks.known("etcd", "m1", {}, str(tmp_path)) == wanted
    assert marks.known("etcd", "m1", {"m1": "f1"}, str(tmp_path)) == "f1"
