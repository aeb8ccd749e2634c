"""Asking nodes: a function of the package `avadm_node` is called there, and its answer read here."""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from avadm.errors import DAMAGE
from avadm.node_bundle import FOLDER, modules
from avadm.remote.fleet import Fleet, Result

NO_ANSWER = "the answer is no JSON"
MOST = 1 << 28
"""Bytes of a long answer: a node in other hands must not fill the controller's memory."""

T = TypeVar("T")
Function = Callable[[Any], Any]
"""A function at the top of one of avadm_node's modules: takes and returns what is JSON-ready, an object or a list."""
Progress = Callable[[str, int, int], None]
"""Called with the node that has just answered, how many have, and how many there are."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What came of asking one node.

    Attributes:
        result: what the command did.
        value: the function's answer, as it was read; None where there is none.
        why: why there is none: the fleet's reason, or the last words of the node's Python; "" where there is one.
        stamps: the node's clock before and after, epoch seconds; None where it was not asked for, or not reported.
    """

    result: Result
    value: T | None
    why: str = ""
    stamps: tuple[float, float] | None = None


def ask(
    fleet: Fleet,
    python: str,
    function: Function,
    given: Mapping[str, object],
    *,
    read: Callable[[Any], T] = lambda found: found,
    timeout: float = 60.0,
    stamped: bool = False,
    cut: bool = True,
    progress: Progress = lambda *_: None,
) -> dict[str, Answer[T]]:
    """Call a function on nodes, on all at once, each in one round trip.

    Args:
        fleet: how to reach them.
        python: their Python, 2.7 or 3.
        function: what is called there; its module and what that imports of avadm_node are sent along.
        given: node to what the function is given, JSON-ready. It goes through stdin, so it may hold secrets.
        read: makes a value of the function's answer; one that it cannot take (`errors.DAMAGE`) counts as none.
        timeout: seconds that a node has.
        stamped: whether the node's clock is read before and after.
        cut: whether ctrl-C closes the nodes' connections; else it waits for what is on its way.
        progress: is called as answers come.
    """
    command = f"{shlex.quote(python)} -"
    if stamped:
        command = f"date +%s.%N; {command}; date +%s.%N"

    def one(node: str) -> Answer[T]:
        stdin = script(function, given[node]).encode()
        return answer(fleet.run(node, command, timeout=timeout, stdin=stdin), read)

    answers: dict[str, Answer[T]] = {}
    # Not the fleet's `map`, which gives all nodes the same stdin.
    with ThreadPoolExecutor(max(1, len(given)), thread_name_prefix=function.__name__) as pool:
        try:
            asked = {pool.submit(one, node): node for node in given}
            for done, future in enumerate(as_completed(asked), start=1):
                answers[asked[future]] = future.result()
                progress(asked[future], done, len(asked))
        except BaseException:
            # The pool waits for the slowest node.
            if cut:
                fleet.close(given)
            raise
    return {node: answers[node] for node in given}


def mapping(found: Any) -> dict[str, Any]:
    """Return an answer that is an object; TypeError for a list. For `ask`'s ``read``."""
    if not isinstance(found, dict):
        raise TypeError("the answer is no object")
    return found


def script(function: Function, params: object) -> str:
    """Return the program that calls a function and prints what it returns; Python 2.7 and 3."""
    name = f"{function.__module__}.{function.__name__}"
    # A literal of JSON inside a literal of Python: json.dumps twice gives one that 2.7 and 3 both read.
    return (
        f"PARAMS = {json.dumps(json.dumps(params))}\n"
        f'CALL = "{name}"\n'
        f'SOURCES = "{_packed(function.__module__)}"\n'
        f"{_loader()}\nmain(CALL, PARAMS, SOURCES)\n"
    )


def answer(result: Result, read: Callable[[Any], T]) -> Answer[T]:
    """Return what a result says: the last line that is an answer, between stamps where there are any."""
    if result.error is not None:
        return Answer(result, None, result.error)
    lines = result.stdout.strip().split("\n")
    stamps = _stamps(lines)
    for line in reversed(lines):
        try:
            return Answer(result, read(_unpacked(line)), stamps=stamps)
        except (*DAMAGE, zlib.error):
            continue
    reply = result.stderr.strip().splitlines()
    why = reply[-1] if reply else f"exit {result.rc}" if result.rc else NO_ANSWER
    return Answer(result, None, why, stamps)


@cache
def _packed(name: str) -> str:
    """Return a module and what it imports for `avadm_node.loader`: JSON, deflated, in base64."""
    texts = {n: (p.name == "__init__.py", p.read_text(encoding="utf-8")) for n, p in modules(name).items()}
    return base64.b64encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()


@cache
def _loader() -> str:
    return (FOLDER / "loader.py").read_text(encoding="utf-8")


def _unpacked(line: str) -> Any:
    """Return the answer in a line; ValueError or zlib.error where it is none."""
    if line.startswith(("{", "[")):
        return json.loads(line)
    inflating = zlib.decompressobj()
    text = inflating.decompress(base64.b64decode(line, validate=True), MOST)
    if inflating.unconsumed_tail:
        raise ValueError(f"the answer has more than {MOST} bytes")
    return json.loads(text)


def _stamps(lines: list[str]) -> tuple[float, float] | None:
    try:
        return float(lines[0]), float(lines[-1])
    except (ValueError, IndexError):
        return None
