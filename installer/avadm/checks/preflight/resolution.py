"""A node's resolver knows its own name rightly, both ways, and answers soon (P11)."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding

WHERE = "getaddrinfo(3)"
SLOW = 2.0  # seconds; a resolver's time-out for one dead server is 5, and each ssh login may wait for it


def judge(context: PreflightContext) -> list[Finding]:
    """Return a warning per wrong or slow answer; no answer is right too: the base phase writes /etc/hosts."""
    found = []
    domain = context.site.network.domain
    for node, fact in context.each("resolution"):
        own, names = str(node.address), {node.name, f"{node.name}.{domain}"}
        for question, got in fact.items():
            answer = [a for a in got["answer"] if not a.startswith("127.")]
            if question == own:
                wrong = bool(answer) and not names & {a.lower() for a in answer}
                wanted = f"{node.name}.{domain}"
            else:
                wrong, wanted = bool(answer) and own not in answer, own
            if wrong:
                code, shown = "resolution", ", ".join(answer)
                found.append(finding(code, WHERE, shown, wanted, host=node.name, question=question))
        slowest = max((got["seconds"] for got in fact.values()), default=0.0)
        if slowest > SLOW:
            took = f"{slowest:.1f} s for one name"
            found.append(finding("resolution-slow", WHERE, took, f"below {SLOW:g} s", host=node.name))
    return found


CHECK = Check("resolution", "own name and address, both ways", ("resolution",), judge, scope="all")
