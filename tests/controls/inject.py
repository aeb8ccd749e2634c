"""What a trouble is that is really made on the lab for the doctor to find."""

from dataclasses import dataclass

from tests.controls.control import Act


@dataclass(frozen=True)
class Plant:
    """A trouble of the lab.

    Attributes:
        name: the test's parameter.
        requirement: the known trouble that it is, K1 to K12; "" for another one.
        text: what is done, in words.
        acts: what is done to which nodes, and what takes it away.
        check: id of the check that must find it.
        where: what the place that it names must hold; ``{}`` is the node of the first act.
        status: what it must say.
        slow: whether only `make test-faults` plants it.
        lingers: whether it stays to be seen for some minutes after it is gone: logs, or what Kubernetes waits for.
        within: seconds after which it must be found.
        component: what the lab's site file must have under ``components``, where the acts' roles do not tell it.
    """

    name: str
    requirement: str
    text: str
    acts: tuple[Act, ...]
    check: str
    where: str = "{}"
    status: str = "bad"
    slow: bool = False
    lingers: bool = False
    within: int = 60
    component: str = ""


def until(condition: str, seconds: int = 60) -> str:
    """Return a script that waits for a condition; it fails where that does not come."""
    return f"end=$(($(date +%s) + {seconds})); until {condition}; do [ $(date +%s) -lt $end ] || exit 1; sleep 1; done"
