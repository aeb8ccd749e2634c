"""A program in one of the cluster's pods, run through the masters: what it is handed goes by standard input alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote import access
from avadm.remote.fleet import Fleet, Result

KUBECTL = "kubectl --kubeconfig=/root/.kube/config"
NO_POD = 76
"""Exit status where no pod is ready; none of ours and none of the shell's."""
_READY = (
    "{{range .items}}{{$name := .metadata.name}}{{if not .metadata.deletionTimestamp}}{{range .status.conditions}}"
    '{{if and (eq .type "Ready") (eq .status "True")}}{{$name}}{{"\\n"}}{{end}}{{end}}{{end}}{{end}}'
)


@dataclass(frozen=True, slots=True)
class Pods:
    """Ready pods of a namespace with some labels, of which one is taken.

    Attributes:
        fleet: ssh to the nodes.
        masters: names of the masters; the first that answers is asked.
        namespace: where the pods are.
        labels: as kubectl takes them: ``app=ava,part=api``.
    """

    fleet: Fleet
    masters: Sequence[str]
    namespace: str
    labels: str

    def run(self, argv: Sequence[str], stdin: bytes, timeout: float = 90.0) -> Result:
        """Run a program in one pod and return what came of it; it ran, whatever its exit status.

        Raises:
            AvadmError: no master could be asked, or no pod is ready.
        """
        findings: list[Finding] = []
        for master in self.masters:
            result = self.fleet.run(master, self._command(argv), timeout=timeout, stdin=stdin)
            if result.error is not None:
                findings.append(access.finding("kubernetes-master", master, result.error))
                continue
            if result.rc != NO_POD:
                return result
            found = result.stderr.strip().rpartition("\n")[2] or "none"
            findings.append(
                finding(
                    "no-pod",
                    found=found,
                    wanted="1",
                    host=master,
                    labels=self.labels,
                    namespace=self.namespace,
                )
            )
        raise AvadmError(findings)

    def _command(self, argv: Sequence[str]) -> str:
        own = f"--namespace={shlex.quote(self.namespace)}"
        asked = (
            f"{KUBECTL} --request-timeout=20s get pods {own} --selector={shlex.quote(self.labels)} "
            f"--output=go-template={shlex.quote(_READY)}"
        )
        # What is to be handed on is not for the first kubectl.
        return (
            f"pod=$({asked} </dev/null | head -n 1); "
            f'[ -n "$pod" ] || exit {NO_POD}; '
            f'exec {KUBECTL} exec --stdin {own} "$pod" -- {shlex.join(argv)}'
        )
