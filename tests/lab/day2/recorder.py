"""Records what came of a verb under load: one row per client of a load, appended to day-two.jsonl among the runs.

`scripts/generate day-two FILE` takes the rows into evidence/day-two.json. A test whose rows are good for this very tree is
skipped when it is run again, so that a series that was interrupted continues; AVADM_AGAIN=1 runs it all the same.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from avadm import paths
from tests.controls.day_two import GOALS_S, INTERRUPTIONS, LOADS, VERBS
from tests.lab.day2.loads.load import together
from tests.lab.day2.loads.stream import utc

NAME = "day-two.jsonl"
GOOD = "good"


def tree():
    """Return the id of what this checkout holds, uncommitted changes included; "" outside a checkout."""

    def git(*words, **env):
        return subprocess.run(
            ["git", *words],
            cwd=Path(__file__).parent,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()

    top = git("rev-parse", "--show-toplevel")
    if not top:
        return ""
    with tempfile.TemporaryDirectory() as place:
        index = Path(place) / "index"
        shutil.copy(Path(git("rev-parse", "--absolute-git-dir")) / "index", index)
        git("-C", top, "add", "--all", GIT_INDEX_FILE=str(index))
        return git("write-tree", GIT_INDEX_FILE=str(index))


def rows(file):
    """Return the rows of a file; a line that a kill cut short is none."""
    found = []
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


class Recorder:
    """Rows of what was tried.

    Args:
        file: where they are appended.
        tree: id of what is tried.
    """

    def __init__(self, file, tree):
        self.file, self.tree = file, tree

    def done(self, verb, at, letters):
        """Whether all rows of a verb, an interruption and these loads are there for this tree, and good."""
        mine = {}
        for row in rows(self.file):
            if (row["verb"], row["at"], row["tree"]) == (verb, at, self.tree):
                mine[row["load"], row["stream"]] = row["result"]
        return bool(self.tree) and {load for load, _ in mine} >= set(letters) and set(mine.values()) == {GOOD}

    def add(self, verb, at, results, seconds, failure="", goals=GOALS_S):
        """Append the rows of one try, synced.

        Args:
            verb: of tests/controls/day_two.py.
            at: where it was interrupted, of the same.
            results: of the loads' clients.
            seconds: how long it took.
            failure: why the test failed, "" where it did not.
            goals: longest pause in seconds by client.
        """
        assert verb in VERBS, verb
        assert at in INTERRUPTIONS, at
        lines = [json.dumps(row_of(self.tree, verb, at, one, seconds, failure, goals)) for one in results]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as stream:
            # After a kill the last line may be without its end.
            stream.write("".join(f"\n{line}" for line in lines) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    def skip_if_done(self, verb, at, loads):
        """Skip a test whose rows are there for this tree, and good; called before anything is planted."""
        letters = [load.letter for load in loads]
        if not os.environ.get("AVADM_AGAIN") and self.done(verb, at, letters):
            pytest.skip(f"recorded for this tree in {self.file} (AVADM_AGAIN=1 runs it again)")

    @contextlib.contextmanager
    def under(self, verb, at, loads, goals=GOALS_S, may_fail=()):
        """Keep loads at work while the block lasts, and record what came of each client, also where the block fails.

        Args:
            verb: of tests/controls/day_two.py.
            at: where it is interrupted, of the same.
            loads: from the fixture `loads`.
            goals: longest pause in seconds by client; {} where none is asked for.
            may_fail: clients whose errors are recorded and fail no test, such as ``api`` where the only master stops.

        Raises:
            AssertionError: an error or a lost write. A pause longer than its goal fails its row and no test: on a busy machine it
                measures the machine too.
        """
        assert {load.letter for load in loads} <= set(LOADS)
        begun, failure = time.time(), ""
        try:
            with together(loads):
                begun = time.time()
                yield
                seconds = time.time() - begun
        except BaseException as error:
            failure = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            raise
        finally:
            seconds = time.time() - begun if failure else seconds
            found = [result for load in loads for result in load.results()]
            self.add(verb, at, found, seconds, failure, goals)
        words = [load.good(may_fail=may_fail) for load in loads]
        print("\n".join(words))


def row_of(tree, verb, at, result, seconds, failure, goals):
    """Return one row."""
    bad = []
    if failure:
        bad.append(f"the test failed: {failure}")
    if result.lost:
        bad.append(f"{len(result.lost)} of {result.acknowledged} lost ({result.lost[0]})")
    if result.errors:
        bad.append(f"{len(result.errors)} errors ({result.errors[0]})")
    if result.pause_s > goals.get(result.stream, float("inf")):
        bad.append(f"pause longer than {goals[result.stream]:g} s")
    if not result.acknowledged:
        bad.append("nothing acknowledged")
    return {
        "verb": verb,
        "load": result.load,
        "stream": result.stream,
        "at": at,
        "result": "; ".join(bad) or GOOD,
        "acknowledged": result.acknowledged,
        "pause_s": result.pause_s,
        "pause_at": result.pause_at,
        "seconds": round(seconds, 1),
        "ended": utc(time.time()),
        "tree": tree,
    }


@pytest.fixture(scope="session")
def recorder():
    """The recorder of this machine's runs."""
    return Recorder(paths.runs() / NAME, tree())
