"""Volumes on cephfs: made for their claim, removed with it, and nothing else is ever touched."""

import json

import pytest

from tests.unit.volumes.volume_fakes import NAME, World, provisioner

FOLDER = f"/volumes/{NAME}"


@pytest.fixture
def world():
    return World()


@pytest.fixture
def made(world):
    """A world where a claim has its volume."""
    world.ask()
    world.it.round()
    return world


def test_a_claim_gets_a_folder_with_a_limit_and_a_volume_of_its_own(made):
    assert made.ceph.tree == {"/": "dir", "/volumes": "dir", FOLDER: "dir"}
    assert made.ceph.quota == {FOLDER: 1 << 30}
    assert made.ceph.modes == {"/volumes": 0o700, FOLDER: 0o777}
    (volume,) = made.api.volumes
    assert volume["spec"]["hostPath"] == {"path": f"/mnt/cephfs{FOLDER}", "type": "Directory"}
    assert volume["spec"]["claimRef"]["uid"] == NAME[4:]
    assert volume["spec"]["capacity"] == {"storage": "1Gi"}
    affinity = json.loads(volume["metadata"]["annotations"][provisioner.AFFINITY])
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "avadm.io/cephfs", "operator": "In", "values": ["mounted"]}]
    assert made.ceph.open == 0, "no session is kept"


def test_a_second_round_and_a_second_provisioner_change_nothing(made):
    made.ceph.tree[f"{FOLDER}/data"] = "file"
    before = dict(made.ceph.tree)
    made.it.round()
    # One that has not seen the volume yet.
    other = World(api=made.api, ceph=made.ceph)
    other.it.provide(other.kind, made.api.lists[provisioner.CLAIMS][0])
    assert (made.ceph.tree, len(made.api.volumes), made.api.events) == (before, 1, [])


def test_a_claim_that_is_gone_takes_its_data_along_and_no_other_users(made):
    tree = made.ceph.tree
    tree |= {"/other": "dir", "/other/data": "file", "/volumes/keep": "dir", "/volumes/keep/data": "file"}
    kept = {path: kind for path, kind in tree.items() if path != FOLDER}
    tree |= {f"{FOLDER}/a": "dir", f"{FOLDER}/a/b": "dir", f"{FOLDER}/a/b/c": "file"}
    tree[f"{FOLDER}/way-out"] = "link"
    made.release()
    made.it.round()
    assert (made.ceph.tree, made.api.volumes) == (kept, [])


def test_what_is_to_be_kept_is_kept(made):
    made.release(persistentVolumeReclaimPolicy="Retain")
    made.it.round()
    assert FOLDER in made.ceph.tree
    assert len(made.api.volumes) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"hostPath": {"path": "/mnt/cephfs", "type": "Directory"}},
        {"hostPath": {"path": f"/mnt/cephfs/volumes/{NAME}/..", "type": "Directory"}},
        {"hostPath": None, "nfs": {"path": "/"}},
        {"claimRef": {"uid": "another"}},
        {"claimRef": None},
    ],
    ids=str,
)
def test_a_volume_that_is_not_as_it_was_made_is_refused(made, changes):
    before = dict(made.ceph.tree)
    made.release(**changes)
    made.it.round()
    made.it.round()
    assert (made.ceph.tree, len(made.api.volumes)) == (before, 1)
    assert [e["reason"] for e in made.api.events] == ["VolumeFailedDelete"], "reported once"
    assert "nothing is removed" in made.messages[0]


@pytest.mark.parametrize(
    "name", ["", "pvc-", "..", "pvc-..", f"{NAME}/..", f"{NAME}\n", f"x{NAME}", NAME.upper()]
)
def test_a_foreign_name_is_refused_whatever_its_path_says(made, name):
    before = dict(made.ceph.tree)
    made.release(hostPath={"path": f"/mnt/cephfs/volumes/{name}"}, claimRef={"uid": name[4:]})
    made.api.volumes[0]["metadata"]["name"] = name
    made.it.round()
    assert made.ceph.tree == before
    assert "no name of a volume" in made.messages[0]


def test_volumes_and_claims_of_others_are_left_alone(world):
    world.ask()
    other = world.api.lists[provisioner.CLAIMS][0]
    other["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-provisioner": "example.com/nfs"}
    world.it.round()
    assert (world.ceph.tree, world.api.volumes) == ({"/": "dir"}, [])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"selector": {"matchLabels": {"a": "b"}}}, "selector"),
        ({"volumeMode": "Block"}, "block"),
        ({"storageClassName": "fast"}, "'fast'"),
        ({"resources": {"requests": {"storage": "0"}}}, "no size"),
    ],
)
def test_what_cannot_be_made_is_reported_where_its_owner_looks(world, spec, message):
    world.ask(**spec)
    for _ in range(3):
        world.it.round()
    (event,) = world.api.events
    assert event["involvedObject"]["name"] == "data"
    assert event["reason"] == "ProvisioningFailed"
    assert message in event["message"]
    assert world.api.volumes == []


def test_a_file_system_that_fails_leads_to_no_volume_and_is_tried_again(world):
    world.ask()
    world.ceph.broken = "error calling ceph_mount: Connection timed out"
    assert world.it.round() == world.kind.retry_s
    assert world.api.volumes == []
    assert "timed out" in world.messages[0]
    world.ceph.broken = None
    world.it.round()
    assert len(world.api.volumes) == 1


def test_a_volume_whose_folder_could_not_be_removed_stays(made):
    made.release()
    made.ceph.broken = "error calling ceph_mount: Permission denied"
    made.it.round()
    assert len(made.api.volumes) == 1
    made.ceph.broken = None
    del made.ceph.tree[FOLDER]  # another one was faster
    made.it.round()
    assert made.api.volumes == []


def test_a_refusing_api_is_no_volume_and_no_loss(world):
    world.ask()
    world.api.refuse["POST", provisioner.VOLUMES] = provisioner.ApiError(422, "Invalid value")
    assert world.it.round() == world.kind.retry_s
    assert "Invalid value" in world.messages[0]


def test_the_second_in_turn_acts_only_on_what_was_left_waiting():
    world = World(turn=1)
    world.ask()
    assert world.it.round() == world.kind.retry_s
    assert world.api.volumes == []
    world.now += world.kind.retry_s
    world.it.round()
    assert len(world.api.volumes) == 1


@pytest.mark.parametrize(
    ("quantity", "size"),
    [
        ("1", 1),
        ("1Gi", 1 << 30),
        ("1.5Mi", 3 << 19),
        ("2G", 2 * 10**9),
        ("1e3", 1000),
        ("100m", 1),
        ("7Ki", 7168),
    ],
)
def test_amounts(quantity, size):
    assert provisioner.bytes_of(quantity) == size


@pytest.mark.parametrize("quantity", ["", "-1", "1Xi", "Gi", "1e99", "0", "8Ei", "1 Gi", None])
def test_no_amounts(quantity):
    with pytest.raises(provisioner.VolumeError):
        provisioner.bytes_of(quantity)
