"""Push files of the artifact cache by ssh, where the module of this name says that a node lacks them."""

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader


class ActionModule(ActionBase):  # type: ignore[misc]
    """Ask the node, push what it lacks, have it checked and put in place."""

    TRANSFERS_FILES = False  # by a connection of its own, not by Ansible's temporary folder
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result; ``changed`` where anything was pushed."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result | self.put(self._task.args, task_vars or {})

    def put(self, given: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Ask the node, push what it lacks, ask again; return the module's last answer."""
        args = given | {"login": task_vars.get("ansible_user") or "root"}
        first: dict[str, Any] = self._execute_module(module_args=args, task_vars=task_vars)
        missing = first.get("missing")
        if first.get("failed") or not missing or self._task.check_mode:
            return first
        sources = {one["path"]: one["artifact"]["path"] for one in args["files"] if one.get("artifact")}
        try:
            self._push({sources[path]: place for path, place in missing.items()}, task_vars)
        except AnsibleError as error:
            return {"failed": True, "msg": f"files cannot be pushed to the node: {error}"}
        again: dict[str, Any] = self._execute_module(
            module_args=args | {"pushed": list(missing)}, task_vars=task_vars
        )
        return again

    def _push(self, files: dict[str, str], task_vars: dict[str, Any]) -> None:
        connection = self._plain(task_vars)
        for source, place in files.items():
            if not os.path.exists(source):
                raise AnsibleError(f"{source} is gone from the controller; run `avadm artifacts build`")
            connection.put_file(source, place)

    def _plain(self, task_vars: dict[str, Any]) -> Any:
        """Return Ansible's own ssh connection; the strategy's may be mitogen's, which is slow for large files."""
        if "ssh" not in self._connection.transport:
            return self._connection
        # By its full name: mitogen puts its own in the place of `ssh`.
        connection = connection_loader.get("ansible.builtin.ssh", self._play_context, os.devnull)
        templated = {k: self._templar.template(v) for k, v in task_vars.items() if k.startswith("ansible_")}
        connection.set_options(var_options=templated)
        return connection
