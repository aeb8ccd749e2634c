"""avadm-ceph-backfill: the limits of the hour are set, and what was set by hand is left."""

import json

import pytest

from tests.unit.fakes.roles import program

backfill = program("ceph_mon/files/avadm-ceph-backfill")
CONFIG = {
    "limits": {"max_backfills": 1, "recovery_sleep_s": 0.1},
    "hours": "22:00-06:00",
    "limits_in_hours": {"max_backfills": 4, "recovery_max_active": 8},
    "mclock": False,
}
DAY, NIGHT = 12 * 60, 23 * 60


class Monitors:
    """A cluster that keeps options and one key; `killed` is the number of writes after which the program dies."""

    def __init__(self, **options):
        self.options, self.keys, self.done, self.killed = options, {}, [], None

    def __call__(self, *words):
        if words[:2] == ("config", "get"):
            return json.dumps({k: {"value": v, "section": "osd"} for k, v in self.options.items()})
        if words[:2] == ("config-key", "get"):
            return self.keys.get(words[2])
        self.write(words)
        return ""

    def write(self, words):
        if self.killed is not None and len(self.done) >= self.killed:
            raise KeyboardInterrupt
        self.done.append(words)
        if words[:2] == ("config-key", "set"):
            self.keys[words[2]] = words[3]
        elif words[1] == "rm":
            self.options.pop(words[3], None)
        else:
            # As 16.2 prints a float.
            self.options[words[3]] = f"{float(words[4]):f}" if "sleep" in words[3] else words[4]

    @property
    def record(self):
        return json.loads(self.keys.get(backfill.RECORD, "{}"))


def apply(monitors, minute=DAY, config=CONFIG):
    """Run the program at a minute of the day; return what it leaves."""
    limits = backfill.wanted(config, minute) if config else {}
    return backfill.Limits(monitors, lambda line: None).apply(limits)


@pytest.mark.parametrize(
    ("hours", "minute", "found"),
    [
        ("22:00-06:00", 22 * 60, True),
        ("22:00-06:00", 22 * 60 - 1, False),
        ("22:00-06:00", 0, True),
        ("22:00-06:00", 6 * 60 - 1, True),
        ("22:00-06:00", 6 * 60, False),
        ("08:30-09:00", 8 * 60 + 30, True),
        ("08:30-09:00", 9 * 60, False),
        ("08:30-09:00", 0, False),
        ("", 0, False),
    ],
)
def test_hours_begin_with_their_first_minute_and_end_before_their_last(hours, minute, found):
    assert backfill.inside(hours, minute) is found


def test_the_limits_of_the_hour_are_set_and_a_second_run_writes_nothing():
    monitors = Monitors()
    assert apply(monitors) == {}
    assert monitors.options == {"osd_max_backfills": "1", "osd_recovery_sleep": "0.100000"}
    writes = len(monitors.done)
    assert apply(monitors) == {}
    assert len(monitors.done) == writes


def test_an_option_that_only_the_other_hours_name_gets_cephs_default_back():
    monitors = Monitors()
    apply(monitors)
    apply(monitors, NIGHT)
    assert monitors.options == {"osd_max_backfills": "4", "osd_recovery_max_active": "8"}
    apply(monitors)
    assert monitors.options == {"osd_max_backfills": "1", "osd_recovery_sleep": "0.100000"}


def test_what_was_set_by_hand_is_left_until_it_is_removed():
    monitors = Monitors(osd_max_backfills="3")
    assert apply(monitors) == {"osd_max_backfills": "3"}
    monitors.options["osd_recovery_sleep"] = "0.5"
    assert apply(monitors, NIGHT) == {"osd_max_backfills": "3", "osd_recovery_sleep": "0.5"}
    assert monitors.options["osd_recovery_max_active"] == "8"
    del monitors.options["osd_max_backfills"], monitors.options["osd_recovery_sleep"]
    assert apply(monitors, NIGHT) == {}
    assert monitors.options["osd_max_backfills"] == "4"


def test_a_value_by_hand_that_the_schedule_has_at_another_hour_is_left_too():
    monitors = Monitors()
    apply(monitors, NIGHT)
    monitors.options["osd_max_backfills"] = "1"
    assert apply(monitors, NIGHT) == {"osd_max_backfills": "1"}


def test_other_limits_in_the_site_file_take_the_place_of_those_set_before():
    monitors = Monitors()
    apply(monitors)
    assert apply(monitors, DAY, {**CONFIG, "limits": {"max_backfills": 2, "recovery_sleep_s": 0.1}}) == {}
    assert monitors.options["osd_max_backfills"] == "2"


@pytest.mark.parametrize("killed", range(7))
def test_a_run_that_was_killed_anywhere_is_made_good_by_the_next(killed):
    monitors = Monitors()
    apply(monitors)
    monitors.killed = len(monitors.done) + killed
    with pytest.raises(KeyboardInterrupt):
        apply(monitors, NIGHT)
    monitors.killed = None
    assert apply(monitors, NIGHT) == {}
    assert monitors.options == {"osd_max_backfills": "4", "osd_recovery_max_active": "8"}
    assert monitors.record == {"osd_max_backfills": ["4"], "osd_recovery_max_active": ["8"]}


def test_a_withdrawal_removes_what_was_set_and_leaves_what_was_set_by_hand():
    monitors = Monitors(osd_recovery_max_active="5")
    apply(monitors)
    monitors.options["osd_max_backfills"] = "9"
    apply(monitors, config=None)
    assert monitors.options == {"osd_recovery_max_active": "5", "osd_max_backfills": "9"}


def test_mclock_is_overridden_before_the_limits_and_they_wait_where_that_was_refused_by_hand():
    config = {**CONFIG, "mclock": True}
    monitors = Monitors()
    apply(monitors, config=config)
    options = [words[3] for words in monitors.done if words[:2] == ("config", "set")]
    assert options[0] == backfill.OVERRIDE
    assert "osd_max_backfills" in options
    monitors = Monitors(**{backfill.OVERRIDE: "false"})
    assert apply(monitors, config=config) == {backfill.OVERRIDE: "false"}
    assert monitors.done == []


def test_a_record_that_cannot_be_read_leaves_everything():
    monitors = Monitors(osd_max_backfills="3")
    monitors.keys[backfill.RECORD] = '["x"'
    assert apply(monitors) == {"osd_max_backfills": "3"}


def test_monitors_that_do_not_answer_are_an_exit_status(tmp_path, monkeypatch, capsys):
    def refuse(*words):
        raise backfill.AskError("no monitor answers")

    path = tmp_path / "backfill.json"
    path.write_text(json.dumps(CONFIG))
    monkeypatch.setattr(backfill, "ceph", refuse)
    assert backfill.main([str(path)]) == 1
    assert "no monitor answers" in capsys.readouterr().err
