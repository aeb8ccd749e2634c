"""How late and how whole a log came: numbers from journals, and the command line as a program of its own."""

import io
import json
import math
import sys
import threading
from pathlib import Path

import pytest

from avadm_validation.measuring.context import MeasureError
from avadm_validation.measuring.extract import compute
from avadm_validation.suites.platform import command_line
from avadm_validation.suites.platform.checks.ot3 import Follower
from avadm_validation.suites.platform.journal import Journal


def journal(*lines, opened=100.0):
    rows = [{"t": opened, "do": "opened", "way": "w"}]
    rows += [{"t": t, "do": "line", "way": "w", "n": n, "said": reply} for t, n, reply in lines]
    return {"journal": ["\n".join(map(json.dumps, rows))]}


def number(name, inputs, **params):
    return compute(name, inputs, {"way": "w", "offset": 0.0, "lines": 3.0, **params})


def test_a_line_is_as_late_as_it_was_on_its_way_once_it_was_asked_for():
    before = journal((102, 0, 50), (103, 1, 102.5))
    assert number("ava_log_first", before) == 2
    assert number("ava_log_behind", before) == 2
    assert number("ava_log_behind", journal((102, 0, 101.5), (110, 1, 102))) == 8


def test_a_nodes_clock_that_goes_before_makes_no_line_late_or_early():
    assert number("ava_log_first", journal((102, 0, 106)), offset=5.0) == 1
    assert number("ava_log_first", journal((102, 0, 106))) == 0


@pytest.mark.parametrize(
    ("numbers", "wrong"), [((0, 1, 2), 0), ((0, 2), 1), ((0, 1, 1, 2), 1), ((1, 0, 2), 1), ((), 3)]
)
def test_lines_that_are_missing_twice_or_out_of_order_count(numbers, wrong):
    assert number("ava_log_wrong", journal(*((101, n, 100) for n in numbers))) == wrong


def test_what_was_not_looked_at_has_no_number():
    assert math.isnan(number("ava_log_first", journal()))
    assert math.isnan(number("ava_log_wrong", {"journal": ['{"t": 1, "do": "page"}']}))
    assert math.isnan(number("ava_log_others", journal()))


def follower(read):
    return Follower(Journal(None, "g"), "w", read)


def test_a_log_that_never_ends_or_breaks_off_keeps_no_one():
    done = threading.Event()
    with pytest.raises(MeasureError, match="did not end"):
        follower(lambda: iter(lambda: str(done.wait(0.01)), "True")).ended(0.05)
    done.set()

    def broken():
        yield "line 0 1.0"
        raise OSError("reset")

    with pytest.raises(MeasureError, match=r"broke off.*reset"):
        follower(broken).ended(5)


def test_the_command_line_is_reported_the_token_by_standard_input_and_keeps_it_nowhere(monkeypatch, tmp_path):
    given = {"host": "ava.t", "address": "10.0.0.1", "authority": "PEM", "token": "secret"}
    seen = {}

    def run(argv, app):
        file = Path(argv[argv.index("--token-file") + 1])
        seen.update(argv=argv, token=file.read_text(), mode=oct(file.stat().st_mode & 0o777))
        return 0

    monkeypatch.setattr(command_line.cli, "run", run)
    monkeypatch.setattr(command_line.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(given)))
    monkeypatch.setattr(sys, "argv", ["x", "logs", "r1"])
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x")
    assert command_line.main() == 0
    assert (seen["token"], seen["mode"], seen["argv"][-2:]) == ("secret", "0o600", ["logs", "r1"])
    assert "secret" not in seen["argv"]
    assert list(tmp_path.iterdir()) == []
