"""Nodes that are folders: they keep the site's lock and the copies of its state by the real code."""

import json
import shlex

from avadm.remote.fleet import Result
from avadm_node.probes import lock

FOLDER = "/var/lib/avadm"
WHOLE = ("health", "entity", "fs", "pool")


def answer(node, command, out="", rc=0, err="", error=None):
    """Return what a node says to a command."""
    return Result(node, command, rc, out, err, 0.0, 0.0, error)


def given(stdin):
    """Return what a function of ours is given: the JSON text in the first line."""
    return json.loads(json.loads(stdin.decode().partition("\n")[0].partition(" = ")[2]))


def called(stdin):
    """Return the name of the function that is called: MODULE.FUNCTION of a probe, from the second line."""
    return (
        json.loads(stdin.decode().splitlines()[1].partition(" = ")[2])
        .removeprefix("avadm_node.")
        .removeprefix("probes.")
    )


class Nodes:
    """A fleet whose nodes are folders below one; every command in ``silent`` nodes fails as unreachable.

    What is found of values is in ``values``, by (host, item); those of the whole cluster have no host.
    """

    def __init__(self, root):
        self.root, self.silent, self.commands = root, set(), []
        self.values, self.asked = {}, []
        self.peer_calls, self.refusing = {}, {}

    def path(self, node, path):
        return self.root / node / path.removeprefix(FOLDER).lstrip("/")

    def key(self, node, item):
        return ("" if item.startswith(WHOLE) else node, item)

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.silent:
            return answer(node, command, rc=255, error="no route")
        self.commands.append((node, command))
        if command.startswith("cat "):
            try:
                return answer(node, command, self.path(node, shlex.split(command)[1]).read_text())
            except OSError as error:
                return answer(node, command, rc=1, err=str(error))
        asked = given(stdin)
        if "items" in asked:
            self.asked.append(node)
            found = {item: self.values.get(self.key(node, item), "!absent") for item in asked["items"]}
            return answer(node, command, json.dumps(found))
        if called(stdin).startswith("peers."):
            return self._call_peers(node, command, called(stdin), asked)
        assert called(stdin) == "lock.do"
        asked["folder"] = asked["folder"].replace(FOLDER, str(self.root / node))
        return answer(node, command, json.dumps(lock.do(asked)))

    def _call_peers(self, node, command, function, asked):
        """Answer as a node that is informed of the others; what it got is in ``peer_calls``, refusals in ``refusing``."""
        if function in self.refusing.get(node, ()):
            return answer(node, command, rc=1, err="RuntimeError: no\n")
        known = self.peer_calls.setdefault(node, {})
        text = asked.get("content") or asked.get("rules")
        changed = text is not None and known.get(function) != text
        known[function] = text
        return answer(node, command, json.dumps({"changed": changed, "armed": changed and "rules" in asked}))

    def put(self, node, content, path, *, mode=0o644):
        if node in self.silent:
            return answer(node, "put", rc=255, error="no route")
        target = self.path(node, path)
        target.write_bytes(content)
        target.chmod(mode)
        return answer(node, "put")

    def close(self, nodes=None):
        pass
