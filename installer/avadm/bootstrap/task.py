"""What bootstrap is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from avadm.bootstrap.controller_key import ControllerKey
from avadm.bootstrap.host_keys import Offer
from avadm.remote.connect import CONNECT_TIMEOUT, Target
from avadm.remote.jump import JumpHost

REBOOT_TIMEOUT = 1200.0  # seconds; servers with much memory test it for ten minutes and more


@dataclass(frozen=True)
class BootstrapTask:
    """What to do.

    Attributes:
        targets: the nodes.
        key: the controller's key.
        known_hosts: file of pinned host keys.
        interpreter: python on the nodes, by the profile.
        declared: node name to the host key that the site file gives.
        jump: the way to the nodes where they are behind a jump host.
        existing: keys that nodes let in already.
        proxy: HTTP proxy for the package manager.
        install_python: whether to install python where it is missing.
        confirm: shown the unknown host keys; says whether to pin them.
        password: called at most once, when a node lets no key in; None where there is no password.
        sudo_password: called at most once, when a login needs a password to become root; None where there is none.
        timeout: seconds for each step of a connection.
        arguments: node name to the kernel arguments that it must be booted with.
        allow_reboot: whether nodes without them may be rebooted.
        reboot_timeout: seconds within which a node must be back.
        poll_seconds: pause between two questions whether it is.
        say: called with which node is rebooted.
        root: node name to the folder in place of its ``/`` (tests).
    """

    targets: Sequence[Target]
    key: ControllerKey
    known_hosts: Path
    interpreter: str
    confirm: Callable[[list[Offer]], bool]
    password: Callable[[], str | None]
    sudo_password: Callable[[], str | None] = lambda: None
    declared: dict[str, paramiko.PKey] = field(default_factory=dict)
    jump: JumpHost | None = None
    existing: Sequence[paramiko.PKey] = ()
    proxy: str | None = None
    install_python: bool = True
    timeout: float = CONNECT_TIMEOUT
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allow_reboot: bool = False
    reboot_timeout: float = REBOOT_TIMEOUT
    poll_seconds: float = 5.0
    say: Callable[[str], None] = lambda text: None
    root: Callable[[str], str] = lambda node: ""
