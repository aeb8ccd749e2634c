"""Whether a member of PostgreSQL may start: no one recreates what was there once."""

import pytest
from ansible.module_utils import avadm_bootstrap_mark as marks
from avadm_database_member import Refused, decide

URL = "https://10.0.0.2:8008/primary"


@pytest.fixture
def member(tmp_path):
    """Return what decides over a member: (data there, own mark, the state's, replace, primary) -> whether it copies."""

    def decided(data=False, mark=False, recorded=(), replace=False, primary=None):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        (folder / "PG_VERSION").write_text("15\n" if data else "")
        if mark:
            marks.keep("database", "demo", str(tmp_path / "marks"))
        given = {
            "name": "n1",
            "data_dir": str(folder),
            "others": [URL],
            "bootstrapped": dict.fromkeys(recorded, "demo"),
            "replace": replace,
            "marks": str(tmp_path / "marks"),
        }
        return decide(given, lambda: primary)

    return decided


@pytest.mark.parametrize(
    ("state", "copies"),
    [
        ({}, False),  # the first members found the cluster
        ({"data": True, "mark": True, "recorded": ["n1"]}, False),
        ({"data": True}, False),
        (
            {"recorded": ["n2"], "primary": URL},
            False,
        ),  # a new member: Patroni copies, nothing was there before
        ({"mark": True, "replace": True, "primary": URL}, True),
        ({"recorded": ["n1", "n2"], "replace": True, "primary": URL}, True),
    ],
)
def test_who_may_start(member, state, copies):
    assert member(**state) is copies


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"mark": True}, "its disk is mounted"),
        ({"mark": True, "primary": URL}, "apply database --replace n1"),
        ({"recorded": ["n1"]}, "its disk is mounted"),  # reinstalled
        ({"mark": True, "replace": True}, "no primary answers"),
        ({"recorded": ["n2"]}, "bootstraps no second cluster"),
    ],
)
def test_lost_data_are_never_made_again(member, state, says):
    with pytest.raises(Refused, match=says):
        member(**state)


def test_a_mark_that_cannot_be_read_is_one(member, tmp_path):
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks/database.json").write_text("{")
    with pytest.raises(Refused):
        member()
