"""One of the lab's GPU nodes shares its cards in two (I13): more containers than cards, and a plug-in that dies.

The node is configured by hand as the roles do for `gpus.slots` of the site file: the plug-in's option, and the label.
"""

import json
from collections import Counter

import pytest

from ava.client import ApiError, Client
from tests.lab.ava.conftest import image_of
from tests.lab.faults.planting import planted
from tests.lab.waiting import until

pytestmark = pytest.mark.lab
NODE, CARDS, SLOTS = "comp3", 4, 2
NAME = "lab-shared"
"""Pool and queue, which stay: after the test no node is in the pool."""
UNIT = "avadm-gpu-device-plugin"
DROP_IN = f"/run/systemd/system/{UNIT}.service.d"
SMALL = {"cpu": 20, "memory": 64 * 2**20}
TELL = (
    "import glob, os, time\n"
    "print(os.environ.get('GPU_SHARE', 'whole'), *sorted(glob.glob('/dev/nvidia[0-9]*')), flush=True)\n"
    "time.sleep(600)\n"
)


def offered(platform):
    """Return how many GPUs kubelet offers on the node."""
    return int(platform.ctl(f"get node {NODE}")["status"]["allocatable"].get("nvidia.com/gpu", 0))


@pytest.fixture(scope="module")
def shared(platform, lab):
    """Have the node share its cards while no one else uses them."""
    do = (
        f"mkdir -p {DROP_IN}\n"
        f"command=$(sed -n '/^ExecStart=/,/[^\\\\]$/p' /etc/systemd/system/{UNIT}.service | sed 's/--slots=[0-9]*//')\n"
        f'printf "[Service]\\nExecStart=\\n%s --slots={SLOTS}\\n" "$command" > {DROP_IN}/slots.conf\n'
        f"systemctl daemon-reload && systemctl restart {UNIT}"
    )
    undo = f"rm -rf {DROP_IN}; systemctl daemon-reload; systemctl restart {UNIT}"
    label = f"kubectl label --overwrite node {NODE} ava.io/gpu-slots"
    with planted(lab, NODE, "shared-gpus", do, undo):
        try:
            lab.sh(platform.master, f"{label}={SLOTS}")
            until(lambda: offered(platform) == CARDS * SLOTS, 90)
            yield
        finally:
            lab.sh(platform.master, f"{label}-")
    until(lambda: offered(platform) == CARDS, 90)


@pytest.fixture(scope="module")
def tenant(platform, authority, shared):
    assert platform.make_admin().returncode == 0
    admin = Client(f"https://{platform.host}", ca=authority)
    admin.login(platform.admin, platform.password)
    admin.put_pool(NAME, gpu=True, selector={"kubernetes.io/hostname": NODE}, gpu_slots=SLOTS)
    admin.put_queue(NAME, pool=NAME)
    name = f"sharer-{platform.admin}"
    admin.make_user(name, f"{name}@example.org", platform.password)
    admin.make_group(name, {"gpu": CARDS * SLOTS + 1, "cpu": 4000, "memory": 4 * 2**30})
    admin.add_member(name, name)
    user = Client(f"https://{platform.host}", ca=authority)
    user.login(name, platform.password)
    yield Tenant(platform, user)
    for run in user.runs():
        if run.phase != "finished":
            user.stop(run.id)
    until(lambda: all(run.phase == "finished" for run in user.runs()), 90)
    admin.change_user(name, state="disabled")


class Tenant:
    """A user who runs something on slots."""

    def __init__(self, platform, user):
        self.platform, self.user = platform, user

    def start(self, name, gpu=1, queue=NAME):
        spec = {"image": image_of(self.platform), "command": ["python3", "-c", TELL], "queue": queue}
        return self.user.start(name, {**spec, "roles": [{"each": {**SMALL, "gpu": gpu}}]}).id

    def report_of(self, run):
        """Return what a run says of its GPUs, once it runs: its share, and the devices."""
        lines = until(lambda: [line.text for line in self.user.logs(run, tail=10)], 90)
        share, *devices = lines[0].split()
        return share, devices


def test_more_containers_than_cards_run_at_once_and_no_card_has_more_than_its_slots(tenant, shared, lab):
    runs = [tenant.start(f"slot-{i}") for i in range(CARDS * SLOTS)]
    reports = [tenant.report_of(run) for run in runs]
    assert {share for share, _ in reports} == {f"1/{SLOTS}"}
    assert Counter(device for _, (device,) in reports) == {f"/dev/nvidia{i}": SLOTS for i in range(CARDS)}
    late = tenant.start("late")
    # Its group may have one more, the pool has none: it is admitted and has no node.
    assert "GPU" in until(lambda: tenant.user.why(late).reasons, 30)[0].what
    assert (tenant.user.run(late).state, [p.node for p in tenant.user.pods(late)]) == ("starting", [""])
    # The plug-in dies: who has a slot keeps it, and the next one gets the slot that became free, not another's.
    lab.sh(NODE, f"systemctl kill -s KILL {UNIT}")
    until(lambda: offered(tenant.platform) == CARDS * SLOTS, 90)
    assert all(tenant.user.run(run).state == "running" for run in runs)
    tenant.user.stop(runs[3])
    assert tenant.report_of(late)[1] == reports[3][1]


def test_two_slots_are_refused_and_a_whole_card_is_given_elsewhere(tenant):
    with pytest.raises(ApiError) as refused:
        tenant.start("two", gpu=2)
    assert [p.code for p in refused.value.problems] == ["one-slot"]
    whole = tenant.start("whole", queue="default")
    assert tenant.report_of(whole)[0] == "whole"
    (pod,) = tenant.user.pods(whole)
    assert pod.node != NODE


def test_what_is_free_is_reported_in_slots(tenant):
    node = next(n for n in tenant.user.cluster().nodes if n.name == NODE)
    assert (node.gpu_slots, node.capacity.gpu) == (SLOTS, CARDS * SLOTS), json.dumps(node.model_dump())
