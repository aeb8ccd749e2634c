"""The ledger and its fingerprints, kept on the site's own nodes too: a lost or damaged controller loses nothing."""

from __future__ import annotations

import json
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from avadm.engine.cluster_lock import LockNodes, Seen
from avadm.engine.fingerprint import Fingerprints
from avadm.engine.ledger import Ledger
from avadm.errors import DAMAGE, AvadmError

NAME = "state.json"


class Mirror:
    """The copies of one site's ledger and fingerprints on the nodes that keep its lock (root only, 0600).

    Args:
        nodes: these nodes.
        ledger: the ledger of this controller.
        prints: its fingerprints.
    """

    def __init__(self, nodes: LockNodes, ledger: Ledger, prints: Fingerprints) -> None:
        self.nodes, self._ledger, self._prints = nodes, ledger, prints
        self._path = f"{nodes.folder}/{NAME}"
        self._lock = threading.Lock()

    def push(self) -> dict[str, str]:
        """Copy the present state to every node; return node to reason where that failed."""
        # The state is read under the lock, so that no older one overwrites a newer.
        with self._lock:
            data = {"ledger": self._ledger.as_dict(), "fingerprints": self._prints.as_dict()}
            content = json.dumps(data).encode()

            def put(node: str) -> str:
                result = self.nodes.fleet.put(node, content, self._path, mode=0o600)
                return "" if result.ok else result.error or result.stderr.strip()

            names = self.nodes.names
            with ThreadPoolExecutor(len(names), thread_name_prefix="mirror") as pool:
                return {n: why for n, why in zip(names, pool.map(put, names), strict=True) if why}

    def fetch(self, seen: Seen) -> str:
        """Take the newest copy over where it is newer than what this controller has; return that as a note.

        Raises:
            AvadmError: the controller's own ledger is damaged and no node has a copy.
        """
        serials = {n: s for n, a in seen.answers.items() if isinstance(s := a.get("serial"), int)}
        for node in sorted(serials, key=lambda n: (-serials[n], n)):
            if serials[node] <= self._ledger.serial and not self._ledger.damage:
                break
            result = self.nodes.fleet.run(node, f"cat {shlex.quote(self._path)}", timeout=30.0)
            if result.ok and (note := self._take(result.stdout, node)):
                return note
        if self._ledger.damage:
            raise self._ledger.damage
        return ""

    def _take(self, text: str, node: str) -> str:
        why = "is damaged" if self._ledger.damage else "is missing" if not self._ledger.serial else "is older"
        try:
            data: dict[str, Any] = json.loads(text)
            self._ledger.replace(data["ledger"])
            self._prints.replace(data["fingerprints"])
        except (*DAMAGE, AvadmError):
            return ""
        return f"The ledger of this controller {why}; took over the copy that {node} keeps."
