"""What scenarios of several nodes see by: turns that overlap, and addresses that two nodes have or none, are found."""

from pathlib import Path

import pytest
import yaml

from tests.unit.fakes.roles import holds, value

FOLDER = Path(__file__).parents[3] / "molecule"


def asserted(path):
    """Return the conditions of a file of tasks that has one assertion, and its own variables."""
    tasks = yaml.safe_load((FOLDER / path).read_text())
    [task] = [one for one in tasks if "ansible.builtin.assert" in one]
    that = task["ansible.builtin.assert"]["that"]
    return [that] if isinstance(that, str) else that, task.get("vars", {})


@pytest.mark.parametrize(
    ("times", "good"),
    [
        (["10 12", "20 25", "30 31"], True),
        # In whatever order.
        (["30 31", "10 12", "20 25"], True),
        # Two were away at once.
        (["10 21", "20 25", "30 31"], False),
        (["10 12", "10 12", "30 31"], False),
        # One was not restarted: systemd knows no time at which it left.
        (["0 12", "20 25", "30 31"], False),
        # One says nothing.
        (["10 12", "", "30 31"], False),
    ],
)
def test_two_that_were_away_at_once_are_found(times, good):
    hosts = [f"node{i}" for i in range(len(times))]
    report = {
        h: {"shared_times": {"stdout": t.replace(" ", "\n")}} for h, t in zip(hosts, times, strict=True)
    }
    conditions, own = asserted("shared/tasks/one_after_another.yml")
    have = {"ansible_play_hosts": hosts, "hostvars": report}
    have["shared_away"] = value(own["shared_away"], **have)
    assert all(holds(one, **have) for one in conditions) is good


@pytest.mark.parametrize(
    ("held", "good"),
    [
        ([["a", "b"], []], True),
        ([[], ["a", "b"]], True),
        ([["a", "b"], ["a", "b"]], False),
        ([["a"], ["b"]], False),
        ([["a"], []], False),
        ([[], []], False),
    ],
)
def test_an_address_that_two_nodes_have_or_none_is_found(held, good):
    hosts = ["one", "two"]
    report = {host: {"vip_held": has} for host, has in zip(hosts, held, strict=True)}
    [condition], _ = asserted("vip/tasks/holder.yml")
    assert holds(condition, ansible_play_hosts=hosts, hostvars=report) is good
