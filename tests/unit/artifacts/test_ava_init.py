"""The init process of users' containers, as the first process of a namespace: what is instructed to end has the time to save."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from avadm.artifacts import recipe
from avadm.artifacts.golang import environment
from avadm.artifacts.manifest import manifest

TRAINING = """
import signal, sys, time
def save(*_):
    # What was printed into a pipe whose reader has ended would end this handler.
    print("saving", flush=True)
    time.sleep(0.5)
    print("saved", flush=True)
    open(sys.argv[1], "a").write("SAVED\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(sys.argv[1], "w").write("BEGUN\\n")
time.sleep(60)
"""
SHELLS = list({os.path.realpath(p): s for s in ("sh", "dash", "bash") if (p := shutil.which(s))}.values())
"""Each shell once: sh is a link to one of the others."""
SCRIPTS = {
    "one after the other": "{run}; echo done",
    "the last command": "true; {run}",
    "in the background": "{run} & wait",
    "in the background, and something else in front": "{run} & sleep 50",
    "a pipeline": "{run} | cat",
    "a pipeline of filters": "{run} 2>&1 | cat | tee /dev/null",
    "a pipeline into a loop": "{run} | while read line; do echo $line; done",
    "a pipeline in brackets": "( {run} | cat ) && echo done",
    "a shell in a shell": "sh -c '{run}; true'; true",
    "a loop": "while true; do {run}; done",
}


@pytest.fixture(scope="module")
def init(tmp_path_factory):
    artifact = manifest()["ava-init"]
    toolchain = recipe.load(artifact.folder).toolchain
    program = tmp_path_factory.mktemp("init") / "init"
    try:
        done = subprocess.run(
            ["go", "build", "-o", program, "."],
            cwd=artifact.folder,
            env={**os.environ, **environment(toolchain)},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("there is no Go: scripts/go")
    assert done.returncode == 0, done.stderr
    return program


class Container:
    """A namespace of processes whose first one is the init."""

    def __init__(self, init, *argv, proc=True):
        # As docker does it, the first process's end is everybody's, and /proc shows the container's processes.
        options = ["--pid", "--fork", "--kill-child", *(["--mount-proc"] if proc else [])]
        self.outer = subprocess.Popen(
            ["unshare", *options, init, "-s", "-g", "--", *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    @property
    def first(self):
        pid = self.outer.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def end(self, number=signal.SIGTERM):
        os.kill(self.first, number)

    def wait(self, seconds=20):
        reply, _ = self.outer.communicate(timeout=seconds)
        return self.outer.returncode, reply.decode()


@pytest.fixture
def container(init):
    made = []

    def run(*argv, **options):
        made.append(Container(init, *argv, **options))
        return made[-1]

    yield run
    for one in made:
        if one.outer.poll() is None:
            one.outer.kill()
            one.outer.wait()


def comes(path, text, seconds=20):
    end = time.monotonic() + seconds
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < end, f"{text} has not come"
        time.sleep(0.05)


def stopped(container, tmp_path, shell, script, **options):
    """Run a script around the training, stop it once that has begun; return what it kept, and the seconds until the end."""
    log, program = tmp_path / "log", tmp_path / "train.py"
    program.write_text(TRAINING)
    one = container(shell, "-c", script.format(run=f"{sys.executable} {program} {log}"), **options)
    comes(log, "BEGUN")
    begun = time.monotonic()
    one.end()
    one.wait()
    return log.read_text(), time.monotonic() - begun


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a namespace of processes is root's to make")


@needs_root
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_child_saves_before_the_container_ends(container, tmp_path, shell, script):
    assert stopped(container, tmp_path, shell, script)[0] == "BEGUN\nSAVED\n"


@needs_root
def test_without_its_own_proc_all_are_asked_at_once(container, tmp_path):
    assert stopped(container, tmp_path, "sh", "{run}; true", proc=False)[0] == "BEGUN\nSAVED\n"


@needs_root
def test_a_filter_that_does_not_end_at_the_end_of_its_input_is_asked_then(container, tmp_path):
    kept, seconds = stopped(container, tmp_path, "sh", "{run} | sleep 60")
    assert kept == "BEGUN\nSAVED\n"
    assert seconds < 40


@needs_root
def test_the_end_is_not_held_up_where_nothing_is_left(container, tmp_path):
    ready = tmp_path / "ready"
    one = container("sh", "-c", f"touch {ready}; sleep 60; true")
    end = time.monotonic() + 20
    while not ready.exists():
        assert time.monotonic() < end
    begun = time.monotonic()
    one.end()
    assert one.wait()[0] == 128 + signal.SIGTERM
    assert time.monotonic() - begun < 30


@needs_root
def test_a_command_that_ends_by_itself_ends_the_container_whatever_it_left(container):
    begun = time.monotonic()
    assert container("sh", "-c", "sleep 60 & exit 7").wait()[0] == 7
    assert time.monotonic() - begun < 30


@needs_root
def test_what_does_not_end_is_left_to_the_grace_period(container, tmp_path):
    ready = tmp_path / "ready"
    deaf = (
        "import signal, sys, time; signal.signal(15, signal.SIG_IGN); open(sys.argv[1], 'w'); time.sleep(60)"
    )
    one = container("sh", "-c", f'{sys.executable} -c "{deaf}" {ready}; true')
    comes(ready, "")
    one.end()
    time.sleep(1)
    assert one.outer.poll() is None
    os.kill(one.first, signal.SIGKILL)
    one.wait(5)


@needs_root
@pytest.mark.parametrize(
    ("argv", "status", "output"),
    [
        (["sh", "-c", "exit 3"], 3, ""),
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["/no/such/program"], 127, "ava-init: exec /no/such/program: no such file or directory"),
        (["no-such-program"], 127, "ava-init: exec no-such-program: executable file not found in $PATH"),
        (["/etc/passwd"], 126, "ava-init: exec /etc/passwd: permission denied"),
        (["echo", "-s", "--", "-g"], 0, "-s -- -g"),
        # The limit of files and masks are the command's as they were the container's.
        (["sh", "-c", "ulimit -Sn; grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2 | sort -u"], 0, None),
    ],
)
def test_the_command_is_as_if_there_were_no_init(container, argv, status, output):
    found = container(*argv).wait()
    if output is None:
        # A container ignores no signal at its start; these tests may have been started by nohup.
        bare = ["env", "--default-signal", *argv]
        output = subprocess.run(bare, capture_output=True, text=True, check=True).stdout.strip()
    assert (found[0], found[1].strip()) == (status, output)


@needs_root
@pytest.mark.parametrize(
    ("groups", "allowed", "foreign"),
    [
        ([1000, 2001], "1000,2001", None),
        ([1000], "1000,2001", None),
        ([1000, 0], "1000,2001", 0),
        ([1000, 4711], "1000,2001", 4711),
        ([2002], "1000,2001", 2002),
    ],
)
def test_a_command_has_no_groups_but_its_owners(init, groups, allowed, foreign):
    init.parent.chmod(0o755)
    more = [f"--groups={','.join(map(str, groups))}"]
    argv = [
        "setpriv",
        f"--regid={groups[0]}",
        "--reuid=1000",
        *more,
        init,
        "-G",
        allowed,
        "-s",
        "-g",
        "--",
        "id",
        "-G",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if foreign is None:
        assert (done.returncode, set(map(int, done.stdout.split()))) == (0, set(groups))
    else:
        assert (done.returncode, done.stdout) == (126, "")
        assert done.stderr.startswith(
            f"ava-init: exec id: group {foreign} is not one of the owner's (1000,2001)"
        )


@needs_root
def test_orphans_are_reaped(container, tmp_path):
    log = tmp_path / "log"
    script = (
        f"for i in 1 2 3 4 5; do (sleep 0.1 &) ; done; sleep 1; ps -eo stat,ppid | grep -c '^Z' > {log}; true"
    )
    one = container("unshare", "--mount-proc", "sh", "-c", script)
    one.wait()
    assert log.read_text().strip() == "0"
