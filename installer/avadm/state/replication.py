"""The state and its fingerprints, kept on the site's own nodes too: a lost or damaged controller loses nothing.

A copy is believed only if it is signed with the vault's key: anyone who is root on one node could else tell every later
run what is done.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import shlex
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from avadm.errors import DAMAGE, AvadmError
from avadm.state.lock.nodes import LockNodes, LockReplies
from avadm.state.site_state import SiteState
from avadm.state.snapshots import SnapshotStore

NAME = "state.json"


class StateReplica:
    """The copies of one site's state and fingerprints on the nodes that keep its lock (root only, 0600).

    Args:
        nodes: these nodes.
        site_state: the state of this controller.
        prints: its fingerprints.
        key: returns the vault's key that signs the copies, None where the vault has none.

    Attributes:
        copies: nodes that reported, when they were asked, that they have a copy.
    """

    def __init__(
        self, nodes: LockNodes, site_state: SiteState, prints: SnapshotStore, key: Callable[[], str | None]
    ) -> None:
        self.nodes, self._site_state, self._prints, self._key = nodes, site_state, prints, key
        self._path = f"{nodes.folder}/{NAME}"
        self._lock = threading.Lock()
        self._lack = ""
        self.copies: list[str] = []

    @property
    def snapshots(self) -> SnapshotStore:
        """What each phase left behind, which the copies have too."""
        return self._prints

    def push(self) -> dict[str, str]:
        """Copy the present state to every node; return node to reason where that failed."""
        # The state is read under the lock, so that no older one overwrites a newer.
        with self._lock:
            if (key := self._key()) is None:
                return dict.fromkeys(self.nodes.names, "the vault has no key to sign it with")
            data = {"ledger": self._site_state.as_dict(), "fingerprints": self._prints.as_dict()}
            content = json.dumps({**data, "signature": signature(data, key)}).encode()

            def put(node: str) -> str:
                result = self.nodes.fleet.put(node, content, self._path, mode=0o600)
                return "" if result.ok else result.error or result.stderr.strip()

            names = self.nodes.names
            with ThreadPoolExecutor(len(names), thread_name_prefix="mirror") as pool:
                return {n: why for n, why in zip(names, pool.map(put, names), strict=True) if why}

    def fetch(self, seen: LockReplies, *, write: bool = True) -> str:
        """Take the newest copy over where it is newer than what this controller has; return that as a note.

        Args:
            seen: what the nodes reported of the copies that they keep.
            write: whether it is kept on this controller, which only a run that holds the site's lock may do.

        Raises:
            AvadmError: the controller's own state is damaged and no node has a copy that can be believed.
        """
        serials = {n: s for n, a in seen.answers.items() if isinstance(s := a.get("serial"), int)}
        self.copies = sorted(serials)
        doubts: dict[str, list[str]] = {}
        note = ""
        for node in sorted(serials, key=lambda n: (-serials[n], n)):
            if serials[node] <= self._site_state.serial and not self._site_state.damage:
                break
            result = self.nodes.fleet.run(node, f"cat {shlex.quote(self._path)}", timeout=30.0)
            why = self._take(result.stdout, write) if result.ok else "it cannot be read"
            if not why:
                note = (
                    f"took over the copy that {node} keeps."
                    if write
                    else f"this is the copy that {node} keeps."
                )
                note = f"The state of this controller {self._lack}; {note}"
                break
            doubts.setdefault(why, []).append(node)
        if self._site_state.damage:
            raise self._site_state.damage
        reports = [
            f"The copy of the state on {', '.join(n)} is not used: {why}." for why, n in doubts.items()
        ]
        return " ".join([note, *reports]).strip()

    def _take(self, text: str, write: bool) -> str:
        """Take over a copy; return why it was not."""
        try:
            data: dict[str, Any] = json.loads(text)
            given = data.pop("signature", None)
            if data["ledger"]["site"] != self._site_state.site:
                return f"it is of the site {data['ledger']['site']!r}"
            if (key := self._key()) is None:
                return "the vault has no key to prove it with"
            if given is None:
                return "it is not signed (an older release of avadm wrote it, or somebody else)"
            if not hmac.compare_digest(str(given).encode(), signature(data, key).encode()):
                return "its signature is not by this vault's key"
            damage, serial = self._site_state.damage, self._site_state.serial
            self._site_state.replace(data["ledger"], write=write)
            self._prints.replace(data["fingerprints"], write=write)
        except AvadmError as error:
            return error.findings[0].what.rstrip(".")
        except DAMAGE:
            return "it cannot be understood"
        self._lack = "is damaged" if damage else "is missing" if not serial else "is older"
        return ""


def signature(data: Mapping[str, Any], key: str) -> str:
    """Return what only somebody with the vault's key can write beside this state."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hmac.new(key.encode(), f"avadm state\0{text}".encode(), hashlib.sha256).hexdigest()
