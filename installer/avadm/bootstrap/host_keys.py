"""Learning host keys: what each node offers, held against the site file and what is pinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import paramiko

from avadm.remote.connect import ConnectionFailed, Target, check_host_key, handshake
from avadm.remote.hostkeys import KnownHosts

AT_ONCE = 32  # handshakes at a time: each costs the controller some 10 ms of CPU


@dataclass(frozen=True, slots=True)
class Offer:
    """What one node showed.

    Attributes:
        target: the node.
        key: the host key to pin, or None with trouble.
        vouched: the site file gives this very key, so no one need confirm it.
        pinned: it was pinned before.
        trouble: why the node's key cannot be taken.
    """

    target: Target
    key: paramiko.PKey | None = None
    vouched: bool = False
    pinned: bool = False
    trouble: ConnectionFailed | None = None


def collect_host_keys(
    targets: Sequence[Target], known: KnownHosts, declared: Mapping[str, paramiko.PKey], timeout: float
) -> list[Offer]:
    """Ask every node for its host key, all at once.

    Args:
        targets: the nodes.
        known: what is pinned already.
        declared: node name to the key that the site file gives; it goes before what is pinned.
        timeout: seconds for each step of a connection.
    """

    def ask(target: Target) -> Offer:
        # By each name: what took over another node's address is new there, known though it is itself.
        pins = [pinned for name in target.entry_names if (pinned := known.lookup(name))]
        given = declared.get(target.node)
        accepted = [[given], *pins] if given else pins
        try:
            transport = handshake(target, [k.get_name() for keys in accepted for k in keys], timeout)
            offered = transport.get_remote_server_key()
            transport.close()
            # Also where the site file is right about the node an old pin must go before anything else connects.
            for keys in accepted:
                check_host_key(target, keys, offered)
        except ConnectionFailed as trouble:
            return Offer(target, trouble=trouble)
        return Offer(target, offered, vouched=given is not None, pinned=bool(pins))

    if not targets:
        return []
    with ThreadPoolExecutor(min(AT_ONCE, len(targets)), thread_name_prefix="learn") as pool:
        return list(pool.map(ask, targets))
