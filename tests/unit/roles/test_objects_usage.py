"""avadm-objects-usage: what users have and may have, as metrics."""

import subprocess

from tests.unit.fakes.roles import program

usage = program("ceph_rgw/files/avadm-objects-usage")
QUOTA = {"enabled": True, "max_size": 100, "max_objects": -1}


def test_a_user_with_a_quota_of_bytes_has_no_limit_of_objects():
    found = usage.figures({"user_quota": QUOTA}, {"stats": {"size": 42, "num_objects": 3}})
    assert found == {
        "avadm_objects_user_bytes": 42,
        "avadm_objects_user_objects": 3,
        "avadm_objects_user_quota_bytes": 100,
    }


def test_older_releases_call_the_same_otherwise():
    found = usage.figures(
        {"user_quota": {**QUOTA, "enabled": False}}, {"total_bytes": 42, "total_entries": 3}
    )
    assert found == {"avadm_objects_user_bytes": 42, "avadm_objects_user_objects": 3}


def test_a_user_that_cannot_be_asked_is_left_out_and_the_others_are_reported(tmp_path, monkeypatch, capsys):
    def ask(identity, *words):
        assert identity == "rgw.s1"
        if words[2] == "--uid=gone":
            raise subprocess.CalledProcessError(2, "radosgw-admin")
        return {"user_quota": QUOTA, "stats": {"size": 7, "num_objects": 1}}

    monkeypatch.setattr(usage, "ask", ask)
    assert usage.main("rgw.s1", str(tmp_path), ["ai", "gone"]) == 1
    text = (tmp_path / "avadm-objects-usage.prom").read_text()
    assert 'avadm_objects_user_bytes{user="ai"} 7' in text.splitlines()
    assert "gone" not in text
    assert "gone" in capsys.readouterr().err


def test_without_node_exporter_there_is_no_one_to_tell(tmp_path):
    assert usage.main("rgw.s1", str(tmp_path / "absent"), ["ai"]) == 0
