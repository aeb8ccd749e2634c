"""The adapter to Ansible: runs one playbook through ansible-runner and streams typed, redacted events."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any, Protocol

from avadm import paths
from avadm.errors import AvadmError
from avadm.remote.events import Event
from avadm.remote.redact import Redactor
from avadm.remote.translate import translate

STRATEGY = "mitogen_linear"
"""The strategy by measurement (docs/explanation/engine.md); AVADM_STRATEGY names another one."""

_PREFIX = "avadm-run-"
# Phases that start at once would each meet the other's half-imported modules, which import each other in a circle.
_IMPORTING = threading.Lock()
# What ansible-runner itself sets.
_RUNNERS = tuple(
    f"ANSIBLE_{name}"
    for name in ("CACHE_PLUGIN", "CACHE_PLUGIN_CONNECTION", "RETRY_FILES_ENABLED", "STDOUT_CALLBACK")
)
# ansible-runner makes its child deaf to SIGHUP. When we are killed, the pseudo-terminal closes and the kernel
# sends just that signal: heard again, no playbook continues unseen after a kill -9.
#
# The garbage collector looks through all of a playbook's objects again and again, in each of the forks that it has for every
# host and task, where it also copies the memory that it touches; a fork ends long before it has garbage worth that.
_START = (
    "import gc, runpy, signal, sys\n"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    "gc.set_threshold(50000, 50, 100)\n"
    "sys.argv = sys.argv[1:]\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


@dataclass(frozen=True, slots=True)
class PlaybookRun:
    """What is to be run.

    Attributes:
        phase: name that the events carry.
        playbook: absolute path.
        inventory: folder that `avadm site render` wrote.
        limit: nodes that may be touched.
        vault: the site's vault file; None where there are no secrets.
        vault_password: file with the vault's password.
        forks: hosts at once.
        check: whether to change nothing (``--check``).
        extra: further arguments of ansible-playbook.
        env: further environment of ansible-playbook.
    """

    phase: str
    playbook: Path
    inventory: Path
    limit: tuple[str, ...]
    vault: Path | None = None
    vault_password: Path | None = None
    forks: int = 25
    check: bool = False
    extra: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlaybookResult:
    """How a playbook ended.

    Attributes:
        rc: exit status of ansible-playbook; 254 where it was stopped.
        canceled: whether it was stopped by us.
        through: hosts that were through before the playbook, which ran without them.
    """

    rc: int
    canceled: bool = False
    through: tuple[str, ...] = ()


class PlaybookRunner(Protocol):
    """What the engine asks of an adapter."""

    def run(
        self, request: PlaybookRun, on_event: Callable[[Event], None], canceled: Callable[[], bool]
    ) -> PlaybookResult:
        """Run one playbook to its end; ``canceled`` is asked at least once a second."""


def ansible_playbook() -> Path:
    """Return the ansible-playbook that belongs to this Python; AvadmError where there is none."""
    binary = Path(sys.executable).parent / "ansible-playbook"
    if not os.access(binary, os.X_OK):
        raise AvadmError.of(
            "no-ansible", where=str(binary), wanted="ansible-core as pinned in pyproject.toml"
        )
    return binary


def environment(request: PlaybookRun, binary: Path) -> dict[str, str]:
    """Return what ansible-playbook needs in its environment beside our own one."""
    home = paths.home()
    env = {
        "PATH": f"{binary.parent}:{os.environ.get('PATH', os.defpath)}",
        # Ansible refuses to start without a UTF-8 locale.
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_CONFIG": str(home / "ansible.cfg"),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_FORCE_COLOR": "0",
        # The log is made from events; text that is not read still costs time on both ends of the pipe.
        "ANSIBLE_DISPLAY_OK_HOSTS": "no",
        "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "no",
    }
    # ansible-runner adds its own folder to what is here already.
    env["ANSIBLE_CALLBACK_PLUGINS"] = ""
    strategy = os.environ.get("AVADM_STRATEGY", STRATEGY)
    if strategy.startswith("mitogen"):
        spec = find_spec("ansible_mitogen")
        if spec is None or spec.origin is None:
            strategy = "linear"
        else:
            env["ANSIBLE_STRATEGY_PLUGINS"] = str(Path(spec.origin).parent / "plugins" / "strategy")
    env["ANSIBLE_STRATEGY"] = strategy
    if request.vault_password is not None:
        # By file and environment: never in argv.
        env["ANSIBLE_VAULT_PASSWORD_FILE"] = str(request.vault_password)
    return env | request.env


def private_root() -> Path:
    """Return where ansible-runner's private folders lie: in memory where there is such a file system."""
    shm = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a private folder in it
    return shm if os.access(shm, os.W_OK) else Path(tempfile.gettempdir())


def sweep(root: Path) -> None:
    """Remove private folders that a killed run (kill -9) of this user left behind."""
    for folder in root.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


class AnsibleRunner:
    """Runs playbooks with ansible-runner, one process each.

    ansible-runner passes each event through a file beside a pseudo-terminal, before anyone can redact it; so
    its folder is a private one (0700), in memory where there is such a file system, and is removed with the
    run. The run folder gets our own redacted events only.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._binary = ansible_playbook()

    def run(
        self, request: PlaybookRun, on_event: Callable[[Event], None], canceled: Callable[[], bool]
    ) -> PlaybookResult:
        """Run one playbook to its end; see PlaybookRunner."""
        root = private_root()
        sweep(root)
        folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root)
        try:
            return self._run(request, on_event, canceled, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(
        self,
        request: PlaybookRun,
        on_event: Callable[[Event], None],
        canceled: Callable[[], bool],
        folder: str,
    ) -> PlaybookResult:
        with _IMPORTING:
            from ansible_runner.config.runner import RunnerConfig
            from ansible_runner.runner import Runner

            from avadm.remote.terminal import be_patient

            be_patient()

        def handle(raw: dict[str, Any]) -> bool:
            event = translate(raw, request.phase, self._redactor)
            if event is not None:
                on_event(event)
            return False  # ansible-runner keeps no file of it

        # RunnerConfig and not ansible_runner.run(): that would write the environment to files.
        ours = environment(request, self._binary)
        config = RunnerConfig(
            private_data_dir=folder,
            project_dir=str(paths.home()),
            playbook=str(request.playbook),
            inventory=str(request.inventory),
            limit=",".join(request.limit),
            forks=request.forks,
            cmdline=_arguments(request),
            envvars=ours,
            settings={"pexpect_timeout": 1, "pexpect_use_poll": True},
            ident=request.phase,
            quiet=True,
            suppress_output_file=True,
            suppress_env_files=True,
            process_isolation=False,
        )
        config.prepare()
        config.env = _without_inherited(config.env, {*ours, *_RUNNERS})
        config.command = [sys.executable, "-P", "-c", _START, str(self._binary), *config.command[1:]]
        runner = Runner(config, event_handler=handle, cancel_callback=canceled)
        runner.run()
        return PlaybookResult(int(runner.rc if runner.rc is not None else 254), bool(runner.canceled))


def _without_inherited(env: dict[str, str], keep: Collection[str]) -> dict[str, str]:
    """Return ansible-runner's environment without the user's own settings of Ansible.

    It starts from all of our environment, where some would undo what we hold to: ANSIBLE_SSH_ARGS comes before the
    options that pin host keys, ANSIBLE_LOG_PATH names a log that is not redacted.
    """
    inherited = {name for name in os.environ if name.startswith("ANSIBLE_")}
    return {name: value for name, value in env.items() if name not in inherited or name in keep}


def _arguments(request: PlaybookRun) -> str:
    # mitogen's own ssh options come before ansible.cfg's: without these it would wait 5 minutes for a node
    # that dies during a task, where plain Ansible waits about one.
    arguments = ["-e", "mitogen_ssh_keepalive_interval=15 mitogen_ssh_keepalive_count=3", *request.extra]
    if request.vault is not None:
        arguments += ["-e", f"@{request.vault}"]
    if request.check:
        arguments.append("--check")
    return " ".join(map(quote, arguments))
