"""Commands that tell on a node the version of what runs there, not of what is on disk by now."""

from __future__ import annotations


def build_info(port: int) -> tuple[str, ...]:
    """Return the command that reads the version in a Kubernetes server's own metrics, plain HTTP on 127.0.0.1."""
    text = "sed -n 's/.*build_info.*gitVersion=\"v\\([^\"]*\\).*/\\1/p'"
    return ("sh", "-c", f"curl --silent --noproxy '*' http://127.0.0.1:{port}/metrics | {text}")


def running(unit: str, argument: str = "--version") -> tuple[str, ...]:
    """Return the command that asks the program that a unit runs."""
    # By its own name hyperkube takes the server from its arguments; other programs look at no name.
    call = f'exec -a hyperkube "/proc/${{pid#*=}}/exe" {argument}'
    return ("bash", "-c", f"pid=$(systemctl show --property=MainPID {unit}) && {call}")


def jar(unit: str) -> tuple[str, ...]:
    """Return the command that reads the version in the name of the open jar of a unit's Java."""
    named = "sed -n 's/.*alluxio-core-common-\\([0-9.]*\\)\\.jar$/\\1/p'"
    return (
        "bash",
        "-c",
        f"pid=$(systemctl show --property=MainPID {unit}) && ls -l /proc/${{pid#*=}}/fd | {named} | head -n 1",
    )
