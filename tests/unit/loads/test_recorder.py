"""What came of a verb under load is recorded whatever came, and a series that was interrupted continues."""

import json
from contextlib import contextmanager

import pytest

from tests.controls.day_two import KILLED_AT_RANDOM, UNINTERRUPTED
from tests.lab.day2.loads.load import Load
from tests.lab.day2.recorder import Recorder, rows, tree

VERB = "disk replace"


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path / "runs" / "day-two.jsonl", "tree")


def load(letter="Q", name="rows", lost=(), error="", pause=1.0, count=3):
    """Return a load of one client that sees what is asked for."""

    @contextmanager
    def part(stream):
        stream.began = 100.0
        for number in range(count):
            stream.acknowledge(number, 100.0 + number * pause)
        yield
        stream.end(100.0 + count * pause)
        stream.lost += lost
        if error:
            stream.fail(error, 101.0)

    return Load(letter, {name: part})


def test_a_good_row_has_what_the_table_shows(recorder):
    with recorder.under(VERB, UNINTERRUPTED, [load()]):
        pass
    (row,) = rows(recorder.file)
    assert (row["verb"], row["load"], row["stream"], row["at"]) == (VERB, "Q", "rows", UNINTERRUPTED)
    assert (row["result"], row["acknowledged"], row["pause_s"]) == ("good", 3, 1.0)
    assert row["pause_at"] == "1970-01-01T00:01:40Z"
    assert row["seconds"] < 5


def test_a_long_pause_is_recorded_so_and_fails_no_test(recorder):
    with recorder.under(VERB, UNINTERRUPTED, [load(pause=11.0)]):
        pass
    (row,) = rows(recorder.file)
    assert row["result"] == "pause longer than 10 s"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"lost": ["1"]}, "1 of 3 lost"),
        ({"error": "refused"}, "1 errors"),
        ({"count": 0}, "nothing acknowledged"),
    ],
)
def test_what_is_not_good_is_recorded_so_and_fails_the_test(recorder, bad, words):
    with pytest.raises(AssertionError), recorder.under(VERB, UNINTERRUPTED, [load(**bad)]):
        pass
    (row,) = rows(recorder.file)
    assert words in row["result"]
    assert not recorder.done(VERB, UNINTERRUPTED, ["Q"])


def test_a_test_that_fails_is_recorded_as_failed(recorder):
    with pytest.raises(RuntimeError), recorder.under(VERB, UNINTERRUPTED, [load()]):
        raise RuntimeError("the verb exited 1")
    (row,) = rows(recorder.file)
    assert row["result"].startswith("the test failed: RuntimeError: the verb exited 1")


def test_what_is_good_for_this_tree_is_skipped_and_nothing_else(recorder, monkeypatch):
    with recorder.under(VERB, UNINTERRUPTED, [load()]):
        pass
    with pytest.raises(pytest.skip.Exception, match="recorded for this tree"):
        recorder.skip_if_done(VERB, UNINTERRUPTED, [load()])
    recorder.skip_if_done(VERB, KILLED_AT_RANDOM, [load()])
    for verb, at, letters, id in (
        ("node add", UNINTERRUPTED, "Q", "tree"),
        (VERB, KILLED_AT_RANDOM, "Q", "tree"),
        (VERB, UNINTERRUPTED, "QS", "tree"),
        (VERB, UNINTERRUPTED, "Q", "another tree"),
        (VERB, UNINTERRUPTED, "Q", ""),
    ):
        assert not Recorder(recorder.file, id).done(verb, at, letters)
    monkeypatch.setenv("AVADM_AGAIN", "1")
    recorder.skip_if_done(VERB, UNINTERRUPTED, [load()])


def test_errors_that_must_be_fail_no_test_and_are_recorded(recorder):
    with recorder.under(VERB, UNINTERRUPTED, [load(error="refused")], may_fail={"rows"}):
        pass
    assert "1 errors" in rows(recorder.file)[0]["result"]
    with (
        pytest.raises(AssertionError),
        recorder.under(VERB, UNINTERRUPTED, [load(error="refused", lost=["1"])], may_fail={"rows"}),
    ):
        pass


def test_a_line_that_a_kill_cut_short_spoils_no_other(recorder):
    with recorder.under(VERB, UNINTERRUPTED, [load()]):
        pass
    with recorder.file.open("a") as stream:
        stream.write('{"verb": "disk rep')
    with recorder.under(VERB, KILLED_AT_RANDOM, [load()]):
        pass
    assert [row["at"] for row in rows(recorder.file)] == [UNINTERRUPTED, KILLED_AT_RANDOM]


@pytest.mark.parametrize(("verb", "at"), [("disc replace", UNINTERRUPTED), (VERB, "somewhere")])
def test_a_row_that_the_table_would_not_show_is_refused(recorder, verb, at):
    with pytest.raises(AssertionError), recorder.under(verb, at, [load()]):
        pass
    assert rows(recorder.file) == []


def test_a_row_is_one_line_of_json(recorder):
    with pytest.raises(AssertionError), recorder.under(VERB, UNINTERRUPTED, [load(error="a\nb")]):
        pass
    (line,) = filter(None, recorder.file.read_text().splitlines())
    assert json.loads(line)["result"].startswith("1 errors")


def test_the_id_of_a_checkout_is_that_of_its_files():
    assert len(tree()) == 40
    assert tree() == tree()
