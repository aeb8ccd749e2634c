"""The masters, asked to do something to nodes of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote import access
from avadm.remote.call import Function, ask, mapping
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
        return dict(self.call(drain.answer, asked, wait)["nodes"])

    def call(self, function: Function, asked: Mapping[str, Any], wait: float = 0.0) -> dict[str, Any]:
        """Return what a function of avadm_node answers on the first master on which it does its work.

        Args:
            function: takes ``asked``, and answers a mapping, with ``error`` where it could not do it.
            asked: what it is given; ``do`` and ``names`` say for people what was asked of which nodes.
            wait: as of `ask`.

        Raises:
            AvadmError: no master could be asked, or the last one asked could not do it.
        """
        findings: list[Finding] = []
        do, names = asked["do"], asked["names"]
        for master in self.names:
            answers = ask(
                self.fleet, self.python, function, {master: asked}, read=mapping, timeout=CALL_S + wait
            )
            answer = answers[master]
            if answer.result.error is not None:
                findings.append(access.finding("kubernetes-master", master, answer.result.error))
                continue
            if answer.value is not None and "error" not in answer.value:
                return answer.value
            reply = answer.value["error"] if answer.value else answer.why
            findings.append(
                finding("kubernetes-master", found=str(reply), host=master, do=do, names=", ".join(names))
            )
        raise AvadmError(findings)
