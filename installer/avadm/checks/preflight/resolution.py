"""A node's resolver knows its own name rightly, both ways, and answers soon (P11)."""

from __future__ import annotations

from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding, Severity

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
                what = f"{question} leads elsewhere by the node's resolver."
                remedy = "Correct the DNS (or the node's search domains): after the base phase /etc/hosts hides it."
                found.append(_finding(node.name, what, ", ".join(answer), wanted, remedy))
        slowest = max((got["seconds"] for got in fact.values()), default=0.0)
        if slowest > SLOW:
            remedy = "Remove dead servers from /etc/resolv.conf: every login waits for them."
            what = "The node's resolver is slow."
            found.append(
                _finding(node.name, what, f"{slowest:.1f} s for one name", f"below {SLOW:g} s", remedy)
            )
    return found


def _finding(host: str, what: str, found: str, wanted: str, remedy: str) -> Finding:
    return Finding(
        check="resolution",
        what=what,
        where="getaddrinfo(3)",
        found=found,
        wanted=wanted,
        remedy=remedy,
        severity=Severity.WARNING,
        host=host,
    )


CHECK = Check("resolution", "own name and address, both ways", ("resolution",), judge, scope="all")
