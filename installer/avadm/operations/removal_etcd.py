"""etcd's part of a node's removal: another member leads, the member is removed by its id, then its program is stopped.

A member that is stopped first counts as failed: of three, no other may fail until it is removed. So it is removed while it
runs, and ends by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.etcd_members import DATA, EtcdMembers, Member
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.removal_master import api_answers
from avadm.operations.removal_model import Leaving, Part, stop

UNITS = ("avadm-etcd-snapshot.timer", "avadm-etcd-defrag.timer", "etcd")
MARK = "/var/lib/avadm/founded/etcd.json"
JOIN_S = 180.0
"""Seconds without progress that members have until all agree again."""
# With its data in place the node could never have a member again; root's snapshots stay.
ASIDE = (
    f"rm -f {MARK} /run/avadm/etcd-bootstrap /etc/etcd/pki/etcd.key; "
    f"if [ -d {DATA}/member ]; then mv {DATA}/member {DATA}/removed-$(date +%s); fi"
)


def has_member(leaving: Leaving) -> bool:
    """Return whether etcd has a member on the node, whatever the site file says; AvadmError where no member answers."""
    return bool(leaving.others("etcd")) and leaving.name in _nodes(leaving)


def part(leaving: Leaving) -> Part:
    """Plan it; AvadmError where no member can be asked."""
    if "etcd" not in leaving.roles:
        return Part()
    cluster, name = leaving.cluster, leaving.name
    etcd = EtcdMembers(cluster)
    steps: list[Step] = []
    if "master" in leaving.stays and not leaving.dead:
        # Its API server asks the member on its own node alone.
        steps.append(
            Step(
                f"have the API server of {name} ask the other members of etcd",
                lambda tell: leaving.ahead(("masters",), (name,), tell),
                leaving.touched,
                gate=Gate(f"the API server of {name} answers", lambda: _api(leaving), JOIN_S),
            )
        )
    steps += [
        Step(
            f"remove the member {name} of etcd",
            lambda tell: _remove(leaving, etcd, tell),
            done=lambda: name not in _nodes(leaving),
            gate=Gate(
                "all members of etcd that are left answer and have the same data",
                lambda: _troubles(leaving, etcd),
                JOIN_S,
            ),
        ),
        Step(
            f"stop etcd on {name}; its data are put aside" if not leaving.dead else "forget its bootstrap",
            lambda tell: _stop(leaving),
            leaving.touched,
        ),
    ]
    pause = Interruption("Kubernetes' API: writes wait while etcd chooses a leader", 10.0)
    return Part(steps, _refusals(leaving, etcd), [pause])


def _refusals(leaving: Leaving, etcd: EtcdMembers) -> list[Finding]:
    if not leaving.others("etcd"):
        return [
            finding("last-of-role", found="no other member", wanted="3 or 5", host=leaving.name, role="etcd")
        ]
    members = etcd.members()
    well = [n for n, one in etcd.status().items() if one.get("leader")]
    return quorum_refusals(leaving.name, members, well)


def quorum_refusals(name: str, members: Sequence[Member], well: Collection[str]) -> list[Finding]:
    """Return why etcd would not survive that a member leaves.

    Args:
        name: its node.
        members: all members.
        well: nodes whose member answers and knows a leader.
    """
    if name not in [one.node for one in members]:
        return []
    staying = [one.node for one in members if one.node != name and not one.learner]
    left = [node for node in staying if node in well]
    # One that lives may wait until all others are well. Of a dead one, those must agree that are a majority with it.
    voters = [one for one in members if not one.learner]
    wanted = len(staying) if name in well else len(voters) // 2 + 1
    found = []
    if len(left) < wanted or not left:
        found.append(
            finding(
                "etcd-quorum-lost",
                found=f"{len(left)}: {', '.join(sorted(left)) or 'none'}",
                wanted=f"{max(wanted, 1)} members that answer without {name}",
                host=name,
            )
        )
    if joining := [one.node for one in members if one.learner and one.node != name]:
        found.append(
            finding("etcd-quorum-lost", found=f"{', '.join(joining)} is joining", wanted="voters", host=name)
        )
    return found


def _nodes(leaving: Leaving) -> list[str]:
    return [one.node for one in EtcdMembers(leaving.cluster).members()]


def _remove(leaving: Leaving, etcd: EtcdMembers, tell: Tell) -> None:
    # Asked once more: since the plan another one may have failed.
    if bad := _refusals(leaving, etcd):
        raise AvadmError(bad, 1)
    if not leaving.dead and (heir := etcd.hand_over(leaving.name)):
        tell(f"    {heir} leads now")
    etcd.remove(leaving.name)


def _troubles(leaving: Leaving, etcd: EtcdMembers) -> Progress:
    found = etcd.troubles()
    return Progress("; ".join(f"{n}: {why}" for n, why in sorted(found.items())), float(len(found)))


def _api(leaving: Leaving) -> Progress:
    good = api_answers(leaving.cluster, [leaving.name])
    return Progress() if good else Progress("it does not answer", 1.0)


def _stop(leaving: Leaving) -> None:
    leaving.cluster.state.unfound("etcd", leaving.name)
    if not leaving.dead:
        leaving.run(f"{stop(UNITS)}; {ASIDE}")
