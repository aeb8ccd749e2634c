"""The masters, asked to do something to nodes of Kubernetes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote import access
from avadm.remote.call import ask, mapping
from avadm.remote.fleet import Fleet
from avadm_node.probes.kube import drain

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
            given: what else avadm_node's kube.drain.answer takes.

        Raises:
            AvadmError: no master could be asked, or the last one asked could not do it.
        """
        asked = {"do": do, "names": list(names), **given}
        findings: list[Finding] = []
        for master in self.names:
            answers = ask(
                self.fleet, self.python, drain.answer, {master: asked}, read=mapping, timeout=CALL_S + wait
            )
            answer = answers[master]
            if answer.result.error is not None:
                findings.append(access.finding("kubernetes-master", master, answer.result.error))
                continue
            if answer.value is not None and "error" not in answer.value:
                return dict(answer.value["nodes"])
            reply = answer.value["error"] if answer.value else answer.why
            findings.append(
                finding("kubernetes-master", found=str(reply), host=master, do=do, names=", ".join(names))
            )
        raise AvadmError(findings)
