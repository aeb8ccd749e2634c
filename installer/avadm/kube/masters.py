"""The masters, asked to do something to nodes of Kubernetes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.runner import access, nodecode
from avadm.runner.fleet import Fleet

CALL_S = 120.0  # what calls of kubectl may take together; those that wait have their own seconds besides


@dataclass(frozen=True)
class Masters:
    """The masters, of which the first that answers is asked.

    Attributes:
        fleet: ssh to the nodes.
        names: the masters' names.
        python: the nodes' Python.
    """

    fleet: Fleet
    names: Sequence[str]
    python: str

    def ask(self, do: str, names: Sequence[str], wait: float = 0.0, **given: object) -> dict[str, Any]:
        """Return node to what came of it.

        Args:
            do: ``look``, ``cordon``, ``uncordon`` or ``drain``.
            names: the nodes.
            wait: seconds that it may take beside the calls' own.
            given: what else avadm_drain.answer takes.

        Raises:
            AvadmError: no master could be asked, or the last one asked could not do it.
        """
        asked = nodecode.script(
            ("avadm_drain",), "avadm_drain.answer", {"do": do, "names": list(names), **given}
        )
        findings: list[Finding] = []
        for master in self.names:
            command, timeout = f"{shlex.quote(self.python)} -", CALL_S + wait
            result = self.fleet.run(master, command, timeout=timeout, stdin=asked.encode())
            if result.error is not None:
                findings.append(access.finding("kubernetes-master", master, result.error))
                continue
            answer = _answer(result.stdout)
            if answer is not None and "error" not in answer:
                return dict(answer["nodes"])
            said = answer["error"] if answer else result.stderr.strip().rpartition("\n")[2]
            what = f"Kubernetes did not {do} {', '.join(names)}."
            remedy = (
                "See whether `kubectl get nodes` works there as root; `avadm apply masters` mends a master."
            )
            findings.append(
                Finding(
                    check="kubernetes-master",
                    what=what,
                    where="",
                    found=str(said),
                    wanted="",
                    remedy=remedy,
                    host=master,
                )
            )
        raise AvadmError(findings)


def _answer(text: str) -> dict[str, Any] | None:
    """Return the JSON object in the last line of what a node printed."""
    try:
        found = json.loads((text.strip().splitlines() or [""])[-1])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
