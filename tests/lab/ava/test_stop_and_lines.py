"""What a program saves while it is stopped, its own exit codes, and the lines it prints, through the public interface."""

import time

import pytest

from tests.lab.ava.user_journey import ENDED, SMALL
from tests.lab.faults.drive import avadm

pytestmark = pytest.mark.lab
ROLES = [{"each": SMALL}]
SAVES = (
    "import os, signal, sys, time\n"
    "def save(number, frame):\n"
    "    time.sleep(6); open(f'{os.environ[\"HOME\"]}/saved-{os.environ[\"AS\"]}', 'x').close(); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, save)\n"
    "print('READY', flush=True)\n"
    "time.sleep(600)\n"
)
"""A training that needs six seconds to save; what it saves is a file in its home, since a log's last lines may be lost."""
SHELLS = {
    f"{shell}-{way}": [shell, "-c", command]
    for shell in ("sh", "bash")
    for way, command in {
        "child": 'python3 -c "$SAVE"; true',
        "pipeline": 'python3 -c "$SAVE" | cat',
        "background": 'python3 -c "$SAVE" & wait',
    }.items()
}
SEPARATORS = "one\N{LINE SEPARATOR}two\N{PARAGRAPH SEPARATOR}three\x85four\x0bfive"


def test_a_stop_waits_for_what_a_child_of_a_shell_saves(day):
    """All at once: each waits for the same six seconds."""
    runs = {
        name: day.start("saves", command, roles=ROLES, env={"SAVE": SAVES, "AS": name})
        for name, command in SHELLS.items()
    }
    for run in runs.values():
        day.log(run, 1, start="READY", seconds=120)
    for run in runs.values():
        day.user.stop(run)
    assert {name: day.until(run, *ENDED).outcome for name, run in runs.items()} == dict.fromkeys(
        runs, "stopped"
    )
    look = "import os\nprint('SAVED', *sorted(n[6:] for n in os.listdir(os.environ['HOME']) if n.startswith('saved-')))"
    run = day.start("look", look, roles=ROLES)
    day.succeeded(run)
    assert day.log(run, 1, start="SAVED") == [" ".join(["SAVED", *sorted(runs)])]


def test_a_programs_own_code_of_a_missing_command_is_its_own(day):
    run = day.start("missing", ["bash", "-c", "sleep 1; no-such-program"], roles=ROLES)
    ended = day.until(run, *ENDED)
    assert ended.outcome == "failed"
    assert [pod.exit_code for pod in day.user.pods(run)] == [127]
    assert "cannot be started" not in ended.reason


def test_lines_are_kept_as_they_were_printed_and_blind_no_reader(day, lab):
    printed = [
        SEPARATORS,
        "",
        "   ",
        "</s>",
        "a" * 64,
        "ACGT" * 20,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ]
    program = f"import time\nfor line in {printed!a}: print(line, flush=True)\n"
    program += "print('x' * 40_000)\nprint('end', flush=True)\ntime.sleep(20)"
    printed += ["x" * 40_000, "end"]
    run = day.start("lines", program, roles=ROLES)
    live = day.log(run, len(printed), seconds=60)
    assert live == printed
    day.succeeded(run)
    until = time.monotonic() + 60
    while (kept := [line.text for line in day.user.logs(run, tail=100)]) != printed:
        assert time.monotonic() < until, kept
        time.sleep(1)
    reply = avadm("logs", "--since", "10m", "--tail", "100000", AVADM_SITE=str(lab.site_path))
    assert reply.returncode == 0, reply.stderr[-2000:]
    assert "one\\u2028two" in reply.stdout, "a search of the site does not show the line"
