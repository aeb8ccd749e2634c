"""Have a node load its packet filter, come in by a new connection, and say that it may be kept."""

from __future__ import annotations

import os
import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader

MARGIN_S = 15
"""How long after the node has taken its rules back it is asked again."""


class ActionModule(ActionBase):  # type: ignore[misc]
    """Load, connect again, keep."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's first result; failed where the node could not be reached under the new rules."""
        task_vars = task_vars or {}
        result: dict[str, Any] = super().run(tmp, task_vars)
        first = self._execute_module(module_args=self._task.args, task_vars=task_vars)
        if first.get("failed") or not first.get("armed"):
            return result | first
        until = time.monotonic() + int(self._task.args.get("seconds", 60)) + MARGIN_S
        try:
            self._come_in(task_vars)
        except AnsibleConnectionFailure as error:
            return result | self._cut_off(task_vars, until, str(error))
        args = self._task.args | {"step": "keep"}
        second = self._execute_module(module_args=args, task_vars=task_vars)
        return result | (second if second.get("failed") else first)

    def _cut_off(self, task_vars: dict[str, Any], until: float, why: str) -> dict[str, Any]:
        """Wait until the node has taken the rules back, so that anyone who repairs them finds it reachable."""
        time.sleep(max(0.0, until - time.monotonic()))
        try:
            self._come_in(task_vars)
            now = "It has taken them back, and is as before."
        except AnsibleConnectionFailure:
            now = "It does not answer now either: look at its console."
        remedy = "Remedy: correct ssh.port, addresses and network.filter in the site file."
        text = f"The node cannot be reached under its new packet filter ({' '.join(why.split())}). {now} {remedy}"
        return {"failed": True, "msg": text}

    def _come_in(self, task_vars: dict[str, Any]) -> None:
        """Log in by a connection of its own: the strategy's, and one that is kept for others, pass any filter."""
        if "ssh" not in self._connection.transport:
            return
        # By its full name: mitogen puts its own in the place of `ssh`. Its reset does nothing where root becomes root.
        fresh = connection_loader.get("ansible.builtin.ssh", self._play_context, os.devnull)
        given = {k: self._templar.template(v) for k, v in task_vars.items() if k.startswith("ansible_")}
        own = "-o ControlMaster=no -o ControlPath=none"
        given["ansible_ssh_common_args"] = f"{own} {given.get('ansible_ssh_common_args') or ''}"
        fresh.set_options(var_options=given)
        # Given up before the node takes its rules back: one try that lasts longer would come in then.
        fresh.set_option("timeout", max(1, int(self._task.args.get("seconds", 60)) // 4))
        fresh.set_option("reconnection_retries", 1)
        rc, _, reply = fresh.exec_command("true", sudoable=False)
        if rc != 0:
            raise AnsibleConnectionFailure(f"`true` exited {rc}: {reply!r}")
