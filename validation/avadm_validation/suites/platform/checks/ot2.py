"""A-OT2: a pod reaches the cephfs folders of all groups of its user at once, and no other group's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.platform import platform_client, polling
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.tenant import Tenant, tenant
from avadm_validation.suites.platform.work import role, spec

ID = "A-OT2"
TITLE = (
    "pods reach the cephfs data of every group of their user at once, and no others'",
    "容器可同时访问用户所有组的 cephfs 数据,且不可访问其他组",
)
NEEDS = "folders"
FIRST, SECOND = "folders", "folders-later"


def run(ctx: Context) -> Outcome:
    """Look into the groups' folders from a training of a user of two groups; from another one, once a group was left."""
    quota = {"gpu": 0, "cpu": None, "memory": None}
    with tenant(ctx, [quota, quota]) as who, tenant(ctx, [quota], part="o") as other:
        foreign = other.groups[0]
        _made(ctx, who, other)
        journal = Journal(who.user, who.groups[0])
        ctx.step("look into the folders of two groups at once")
        # Of whom a group is was stated here, by this check; the platform alone knows its number.
        gids = {group: who.user.group(group).gid for group in who.groups}
        _look(ctx, who, journal, FIRST, foreign, gids)
        who.admin.remove_member(who.groups[1], who.name)
        ctx.step("the same after a group was left")
        _look(ctx, who, journal, SECOND, foreign, {who.groups[0]: gids[who.groups[0]]})
    raw = {"journal": [journal.save(ctx)]}

    def one(name: str, titles: tuple[str, str], *called: str, **more: str) -> Metric:
        samples = [ctx.sample(f"ava_folders_{name}", raw, called=start, **more) for start in called]
        return metric(name, titles, "groups", "client", samples)

    return Outcome(
        method="two trainings of one user: the first as a member of two groups, the second after one of them was left; a "
        "third group is another user's. Each lists /groups, writes a file into each folder and reads it, looks at mode "
        "and owners, and tries to open the folders of groups by name that are not the user's",
        metrics=[
            one("lacking", ("groups whose folder is not reached", "不可访问的组目录"), FIRST, SECOND),
            one("foreign", ("others' folders that are", "可访问的他组目录"), FIRST, SECOND),
            one("rights", ("folders with other rights than their group's", "权限不符的组目录"), FIRST),
            one(
                "lost",
                ("folders without what the run before wrote", "未保留前次写入的组目录"),
                SECOND,
                before=FIRST,
            ),
        ],
        remedy="docs/how-to/administer-ava.md; `ava storage show group NAME` names what is wrong with a folder; on the node: "
        "`systemctl status avadm-cephfs`.",
    )


def _made(ctx: Context, who: Tenant, other: Tenant) -> None:
    """Wait until the platform has made the folders; MeasureError where it does not."""
    left = [(who.user, group) for group in who.groups] + [(other.user, other.groups[0])]

    def made() -> bool:
        left[:] = [(user, group) for user, group in left if not user.group_folder(group).made]
        return not left

    if not polling.until(made, float(ctx.params["fresh_s"]), every=1.0):
        troubles = ", ".join(
            f"{group}: {user.group_folder(group).trouble or 'not made'}" for user, group in left
        )
        raise MeasureError(f"folders of groups were not made within {ctx.params['fresh_s']} s: {troubles}")


def _look(
    ctx: Context, who: Tenant, journal: Journal, name: str, foreign: str, wanted: Mapping[str, int]
) -> None:
    job: dict[str, Any] = spec(platform_client.target(ctx).image, "folders", role())
    # The folders that are tried are the same both times: those of the group that was left are others' then.
    job["command"] = [*job["command"], *who.groups, foreign]
    journal.group = who.groups[0]
    made = journal.start(name, job, wanted=dict(wanted))
    if not journal.reached([made], "succeeded", seconds=float(ctx.params["place_s"])):
        raise MeasureError(
            f"the training has not succeeded: {journal.states[made]} {journal.runs[made].reason}"
        )
    journal.log(made, seconds=float(ctx.params["log_s"]))
