"""What only administrators may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ava.client.base import Resource
from ava.schemas.node_drains import NodeRunsOut
from ava.schemas.runs import PoolOut, QueueOut
from ava.schemas.users import AuditOut, GroupOut, InvitationOut, KeyOut, UserOut


class AdminApi(Resource):
    """Administration. A quota is ``{"gpu", "cpu" (thousandths), "memory", "storage", "disk" (bytes)}``; null: no limit."""

    def users(
        self, *, state: Literal["pending", "active", "disabled"] | None = None, most: int | None = None
    ) -> Iterator[UserOut]:
        """Yield users by name."""
        return self._all(UserOut, "/users", {"state": state}, most)

    def user(self, name: str) -> UserOut:
        """Return a user."""
        return self._one(UserOut, "GET", f"/users/{name}")

    def make_user(
        self, name: str, email: str, password: str | None = None, *, admin: bool = False
    ) -> UserOut:
        """Make an account that can be used at once; without a password by who is invited."""
        body = {"name": name, "email": email, "password": password, "admin": admin}
        return self._one(UserOut, "POST", "/users", json=body, again=False)

    def change_user(self, name: str, **changes: Any) -> UserOut:
        """Change ``state`` (pending, active, disabled; with ``stop_runs=True`` all runs are stopped), ``admin``, ``email``."""
        return self._one(UserOut, "PATCH", f"/users/{name}", json=changes, again=True)

    def delete_user(self, name: str) -> None:
        """Remove an account that was not approved; its name and address are free then."""
        self._send.send("DELETE", f"/users/{name}")

    def set_password_of(self, name: str, new: str) -> None:
        """Give somebody else a new password; all their logins and tokens end."""
        self._send.send("PUT", f"/users/{name}/password", json={"new": new}, again=False)

    def send_confirmation_to(self, name: str) -> UserOut:
        """Have the link sent again by which a user confirms an e-mail address."""
        return self._one(UserOut, "POST", f"/users/{name}/email-confirmation", again=False)

    def invite(self, name: str) -> InvitationOut:
        """Return an invitation by which the user chooses a password; it is shown this once."""
        return self._one(InvitationOut, "POST", f"/users/{name}/invitation", again=False)

    def keys_of(self, user: str) -> list[KeyOut]:
        """Return a user's ssh keys."""
        return self._list(KeyOut, f"/users/{user}/keys/ssh")

    def put_key_of(self, user: str, name: str, value: str) -> KeyOut:
        """Store a public ssh key of a user."""
        return self._one(KeyOut, "PUT", f"/users/{user}/keys/ssh/{name}", json={"value": value})

    def delete_key_of(self, user: str, name: str) -> None:
        """Remove an ssh key of a user."""
        self._send.send("DELETE", f"/users/{user}/keys/ssh/{name}")

    def set_default_group_of(self, user: str, group: str) -> UserOut:
        """Choose the group that a user's later runs are charged to."""
        return self._one(UserOut, "PUT", f"/users/{user}/default-group", json={"group": group})

    def approve(self, name: str) -> UserOut:
        """Let somebody in who has registered."""
        return self.change_user(name, state="active")

    def make_group(self, name: str, quota: Mapping[str, int | None]) -> GroupOut:
        """Make a group; the same again changes nothing."""
        return self._one(GroupOut, "POST", "/groups", json={"name": name, "quota": dict(quota)}, again=True)

    def set_quota(self, group: str, quota: Mapping[str, int | None]) -> GroupOut:
        """Change what a group may have at once."""
        return self._one(GroupOut, "PUT", f"/groups/{group}/quota", json=dict(quota))

    def delete_group(self, name: str) -> None:
        """Remove a group without members and runs."""
        self._send.send("DELETE", f"/groups/{name}")

    def add_member(self, group: str, user: str) -> None:
        """Put a user into a group."""
        self._send.send("PUT", f"/groups/{group}/members/{user}")

    def remove_member(self, group: str, user: str, *, stop_runs: bool = False) -> None:
        """Take a user out of a group; stop the user's runs that are charged to it where that is wanted."""
        asked = {"stop_runs": "true"} if stop_runs else {}
        self._send.send("DELETE", f"/groups/{group}/members/{user}", params=asked)

    def put_queue(self, name: str, *, new: bool = False, **settings: Any) -> QueueOut:
        """Make or change a queue: ``pool``, ``quota``, ``priority``. With ``new`` a name that is known is refused."""
        return self._one(QueueOut, "PUT", f"/queues/{name}", json=settings, **_only_new(new))

    def delete_queue(self, name: str) -> None:
        """Delete a queue in which no run is that has not finished."""
        self._send.send("DELETE", f"/queues/{name}")

    def node(self, name: str, *, cluster: str = "default") -> NodeRunsOut:
        """Return the runs on a node, and whether it is drained."""
        return self._one(NodeRunsOut, "GET", f"/nodes/{name}", params={"cluster": cluster})

    def drain_node(
        self, name: str, *, notice: int = 1800, stop_runs: bool = False, cluster: str = "default"
    ) -> NodeRunsOut:
        """Have the runs of a cordoned node leave it; ``notice`` in seconds. Asked again, the first time stays."""
        body = {"cluster": cluster, "notice": notice, "stop_runs": stop_runs}
        return self._one(NodeRunsOut, "PUT", f"/nodes/{name}/drain", json=body, again=True)

    def undrain_node(self, name: str, *, cluster: str = "default") -> None:
        """Let the runs of a node stay."""
        self._send.send("DELETE", f"/nodes/{name}/drain", params={"cluster": cluster})

    def delete_pool(self, name: str) -> None:
        """Delete a pool that no queue names and no run goes to."""
        self._send.send("DELETE", f"/pools/{name}")

    def put_pool(
        self, name: str, *, gpu: bool, selector: Mapping[str, str], new: bool = False, **settings: Any
    ) -> PoolOut:
        """Make or change a pool: also ``cpu_ratio``, ``memory_ratio``, ``gpu_slots``. ``new`` as for queues."""
        body = {"gpu": gpu, "selector": dict(selector), **settings}
        return self._one(PoolOut, "PUT", f"/pools/{name}", json=body, **_only_new(new))

    def audit(
        self,
        *,
        who: str | None = None,
        object: str | None = None,
        action: str | None = None,
        most: int | None = 200,
    ) -> Iterator[AuditOut]:
        """Yield lines of the audit log, newest first."""
        return self._all(AuditOut, "/audit", {"who": who, "object": object, "action": action}, most)


def _only_new(new: bool) -> dict[str, Any]:
    # Sent again after a lost answer, it would be refused for what it made itself.
    return {"headers": {"if-none-match": "*"}, "again": False} if new else {}
