"""The module's words to the node's program, and what it says where that is not there."""

import avadm_packet_filter as module
import pytest

from tests.unit.fakes.running import module as run


@pytest.mark.parametrize(
    ("given", "check_mode", "words"),
    [
        ({"state": "present", "step": "load"}, False, ["try", "FILE", "60"]),
        ({"state": "present", "step": "load"}, True, ["compare", "FILE"]),
        ({"state": "present", "step": "keep"}, False, ["keep"]),
        ({"state": "absent", "step": "load"}, False, ["off"]),
        ({"state": "absent", "step": "load"}, True, ["status"]),
    ],
)
def test_a_step_is_one_verb_and_a_dry_run_only_looks(given, check_mode, words):
    assert module.steps({"seconds": 60, **given}, check_mode, there=True) == words


@pytest.mark.parametrize(
    ("given", "check_mode", "expected"),
    [
        ({"rules": "x"}, True, {"changed": True, "armed": False}),
        ({"state": "absent"}, False, {"changed": False, "armed": False}),
        ({"rules": "x"}, False, {"failed": True}),
    ],
)
def test_before_the_program_is_there_nothing_is_loaded(tmp_path, given, check_mode, expected):
    answer, _ = run("avadm_packet_filter", _ansible_check_mode=check_mode, **given)
    assert expected.items() <= answer.items()
