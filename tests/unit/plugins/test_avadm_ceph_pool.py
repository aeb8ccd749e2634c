"""avadm_ceph_pool: which commands make the pools right."""

import pytest
from ansible.module_utils.avadm_ceph import CephError
from avadm_ceph_pool import Pools
from fake_ceph import FakeCeph

RULE = {"name": "replicated_rack", "root": "default", "failure_domain": "rack"}
WANTED = {"name": "rbd", "pg_num": 64, "size": 2, "min_size": 1, "application": "rbd"}
FOUND = {
    "pool_name": "rbd",
    "crush_rule": 1,
    "pg_autoscale_mode": "off",
    "last_change": "70",
    "size": 2,
    "min_size": 1,
    "pg_num": 64,
    "pg_num_target": 64,
    "pg_placement_num": 64,
    "pg_placement_num_target": 64,
    "application_metadata": {"rbd": {}},
}
OLD_RELEASE = {k: v for k, v in FOUND.items() if k != "pg_autoscale_mode" and not k.endswith("target")}


def pools(*found, rules=("replicated_rule", "replicated_rack"), check_mode=False, reports=None):
    ceph = FakeCeph(
        {
            "osd pool ls detail": list(found),
            "pg ls-by-pool rbd": reports or {"pg_stats": [{"reported_epoch": 70}]},
            "osd crush rule dump": [{"rule_name": r, "rule_id": i} for i, r in enumerate(rules)],
        }
    )
    return ceph, Pools(ceph, RULE, check_mode)


def run(*found, **more):
    ceph, work = pools(*found, **more)
    work.ensure([WANTED])
    return ceph, work


@pytest.mark.parametrize(
    ("found", "larger"),
    [({}, []), ({"pg_num": 128, "pg_num_target": 128}, ["rbd: found 128, wanted 64"]), ({"pg_num": 40}, [])],
    ids=["right", "with more placement groups, which never shrink", "on its way to the target"],
)
def test_nothing_is_done_to_a_pool_that_is(found, larger):
    ceph, work = run({**FOUND, **found})
    assert (ceph.done, work.actions, work.larger) == ([], [], larger)


@pytest.mark.parametrize(
    ("differs", "command"),
    [
        ({"size": 3}, "set rbd size 2"),
        ({"min_size": 2}, "set rbd min_size 1"),
        ({"crush_rule": 0}, "set rbd crush_rule replicated_rack"),
        ({"pg_autoscale_mode": "on"}, "set rbd pg_autoscale_mode off"),
        ({"pg_num": 32, "pg_num_target": 32}, "set rbd pg_num 64"),
        ({"application_metadata": {}}, "application enable rbd rbd"),
    ],
)
def test_what_differs_is_set_and_nothing_else(differs, command):
    ceph, _work = run({**FOUND, **differs})
    assert ceph.done == [f"osd pool {command}"]


@pytest.mark.parametrize("shape", [lambda groups: {"pg_stats": groups}, lambda groups: groups])
def test_after_another_size_it_waits_until_every_group_has_reported_since(shape, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    epochs = [(68, 69), (70, "69"), ("70", 71)]
    seen = []

    def reports():
        seen.append(epochs[len(seen)])
        return shape([{"reported_epoch": epoch} for epoch in seen[-1]])

    run({**FOUND, "size": 3}, reports=reports)
    assert seen == epochs


@pytest.mark.parametrize("differs", [{}, {"crush_rule": 0}])
def test_no_one_is_asked_to_report_after_anything_else(differs):
    run({**FOUND, **differs}, reports=lambda: pytest.fail("asked"))


def test_release_13_has_no_autoscaler_and_needs_pgp_num():
    ceph, _work = run({**OLD_RELEASE, "pg_num": 32, "pg_placement_num": 32})
    assert ceph.done == ["osd pool set rbd pg_num 64", "osd pool set rbd pgp_num 64"]


def test_a_dry_run_names_the_rule_and_the_pool_that_it_would_make():
    ceph, work = run(rules=("replicated_rule",), check_mode=True)
    assert ceph.done == []
    assert work.actions == [
        "osd crush rule create-replicated replicated_rack default rack",
        "osd pool create rbd 64 64 replicated replicated_rack",
    ]


def test_a_refusal_carries_what_ceph_shown():
    _ceph, work = pools(FOUND)
    work.ceph.run = lambda argv, data: (34, "", "Error ERANGE: too many PGs per OSD\n")
    with pytest.raises(CephError, match=r"failed \(34\): Error ERANGE: too many PGs"):
        work.ensure([WANTED])


def test_pools_that_are_not_there_are_made_in_one_go_and_then_put_right():
    made = []
    ceph, work = pools()
    fresh = {**FOUND, "application_metadata": {}}
    ceph.answers["osd pool ls detail"] = lambda: [{**fresh, "pool_name": n} for n in made]
    plain = ceph.run

    def act(argv, data=None):
        made.extend(line.split()[3] for line in (data or "").splitlines() if "create" in line)
        return plain(argv, data)

    ceph.run = act
    work.ensure([WANTED, {**WANTED, "name": "second"}])
    assert [text.splitlines() for text in ceph.stdin] == [
        [f"osd pool create {n} 64 64 replicated replicated_rack" for n in ("rbd", "second")],
        [f"osd pool application enable {n} rbd" for n in ("rbd", "second")],
    ]


def test_a_refusal_among_several_commands_is_reported_though_ceph_ends_well():
    _ceph, work = pools({**FOUND, "size": 3, "application_metadata": {}})
    plain = work.ceph.run

    def act(argv, data=None):
        return (0, "", "Error EPERM: no\n") if data else plain(argv, data)

    work.ceph.run = act
    with pytest.raises(CephError, match=r"refused osd pool set rbd size 2; .*: Error EPERM: no"):
        work.ensure([WANTED])
    assert work.actions == []
