"""Read a service's files and templates, push its artifacts, and have nodes take turns where what runs is interrupted."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.template import AnsibleEnvironment, generate_ansible_template_vars

WAIT_S = 0.2
"""How often somebody who waits looks whether it is his turn."""


class ActionModule(ActionBase):  # type: ignore[misc]
    """One task for a service."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's last result, without the contents of files."""
        task_vars = task_vars or {}
        result: dict[str, Any] = super().run(tmp, task_vars)
        args = dict(self._task.args)
        try:
            args["files"] = [
                self._read(one, task_vars) for entry in flat(args.get("files") or []) for one in each(entry)
            ]
        except (AnsibleError, OSError, UnicodeError) as error:
            return result | {"failed": True, "msg": f"a file of the role cannot be read: {error}"}
        found = self._pushing().put(args, task_vars)
        if found.get("waits"):
            with turn(str(self._task._uuid), int(args["rolling"])) as interrupted:
                found = self._in_turn(args, found, interrupted, task_vars)
        for entry in ((found.get("invocation") or {}).get("module_args") or {}).get("files") or []:
            for key in {"content", "base64", "template", "src"} & entry.keys():
                del entry[key]
        return result | found

    def _pushing(self) -> Any:
        """Return the plug-in that pushes artifacts, for this task; under mitogen no plug-in can be another's parent."""
        return self._shared_loader_obj.action_loader.get(
            "avadm_artifact",
            task=self._task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )

    def _in_turn(
        self, args: dict[str, Any], look: dict[str, Any], interrupted: Path, task_vars: dict[str, Any]
    ) -> dict[str, Any]:
        """Have the node interrupt what runs, once those of its peers serve that did before anybody was interrupted."""
        before = interrupted.read_text().splitlines() if interrupted.exists() else []
        # A peer that was interrupted before this node looked did not answer it, and has to serve again all the same.
        gate = {*look["answering"], *(set(before) & set(args.get("peers") or []))}
        if look["serving"]:
            with interrupted.open("a", encoding="utf-8") as report:
                report.write(args["own"] + "\n")
        more = {"turn": True, "gate": sorted(gate), "pushed": look["pushed"]}
        login = {"login": task_vars.get("ansible_user") or "root"}
        done: dict[str, Any] = self._execute_module(module_args=args | login | more, task_vars=task_vars)
        return done

    def _read(self, entry: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return a file with its content, where a file or template of the role has it."""
        if src := entry.get("src"):
            content = Path(self._find_needle("files", src)).read_text(encoding="utf-8")
        elif template := entry.get("template"):
            content = self._render(self._find_needle("templates", template), template, task_vars)
        else:
            return entry
        return entry | {"content": content}

    def _render(self, path: str, name: str, task_vars: dict[str, Any]) -> str:
        """Return what Ansible's own template module would write."""
        roots = [str(Path(path).parent), *task_vars.get("ansible_search_path", [])]
        own = generate_ansible_template_vars(name, path)
        templar = self._templar.copy_with_new_env(
            environment_class=AnsibleEnvironment,
            searchpath=[place for root in roots for place in (f"{root}/templates", root)],
            available_variables=task_vars | own,
        )
        made: str = templar.template(
            Path(path).read_text(encoding="utf-8"),
            preserve_trailing_newlines=True,
            convert_data=False,
            escape_backslashes=False,
        )
        return made


def flat(entries: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list of files, those of lists in it as well."""
    for entry in entries:
        yield from flat(entry) if isinstance(entry, list) else [entry]


def each(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an entry of the list of files, once for each word or key of its `each`."""
    words = entry.get("each")
    if words is None:
        yield entry
        return
    plain = {key: value for key, value in entry.items() if key not in ("each", "as")}
    kind = entry.get("as", "content")
    for word in words:
        named = {key: plain[key].replace("{}", word) for key in ("path", "src", "template") if key in plain}
        yield plain | named | ({kind: _content(kind, words[word])} if isinstance(words, dict) else {})


def _content(kind: str, value: Any) -> Any:
    """Return a value of a dictionary as an option of a file."""
    if kind == "artifact" or isinstance(value, str):
        return value
    return json.dumps(value, indent=4, sort_keys=True)


@contextmanager
def turn(key: str, at_once: int) -> Iterator[Path]:
    """Wait for one of so many turns of a task; yield the file of who was interrupted in it.

    A turn ends with the worker that has it, however that ends. The folder is that of one ansible-playbook.
    """
    folder = Path(constants.DEFAULT_LOCAL_TMP) / "avadm-turns"
    folder.mkdir(mode=0o700, exist_ok=True)
    handles = [(folder / f"{key}.{number}").open("a") for number in range(at_once)]
    try:
        while not any(_locked(handle) for handle in handles):
            time.sleep(WAIT_S)
        yield folder / f"{key}.interrupted"
    finally:
        for handle in handles:
            handle.close()


def _locked(handle: Any) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
