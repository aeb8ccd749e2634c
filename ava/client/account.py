"""One's own account: who one is, groups, tokens, keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote

from ava.client.base import Resource
from ava.schemas.images import PushedImageOut, PushedOut
from ava.schemas.users import GroupOut, KeyOut, MemberOut, SecretOut, SessionOut, TokenOut, UserOut

KeyKind = Literal["ssh", "deploy"]


class AccountApi(Resource):
    """What is one's own."""

    def me(self) -> UserOut:
        """Return who one is."""
        return self._one(SessionOut, "GET", "/sessions/current").user

    def set_password(self, current: str, new: str) -> None:
        """Change one's password; all other logins and tokens end."""
        self._send.send("PUT", "/users/me/password", json={"current": current, "new": new}, again=False)

    def send_confirmation(self) -> UserOut:
        """Have the link sent again by which one's e-mail address is confirmed."""
        return self._one(UserOut, "POST", "/users/me/email-confirmation", again=False)

    def confirm_email(self, confirmation: str) -> UserOut:
        """Confirm one's e-mail address by what its link has behind ``confirmation=``; it is good once."""
        body = {"confirmation": confirmation}
        return self._one(UserOut, "POST", "/email-confirmations", json=body, again=False)

    def set_default_group(self, group: str) -> UserOut:
        """Choose the group that later runs are charged to."""
        return self._one(UserOut, "PUT", "/users/me/default-group", json={"group": group})

    def groups(self, *, all: bool = False) -> list[GroupOut]:
        """Return one's groups, or (for administrators) everybody's."""
        return list(self._all(GroupOut, "/groups", {"all": all}, None))

    def group(self, name: str) -> GroupOut:
        """Return a group."""
        return self._one(GroupOut, "GET", f"/groups/{name}")

    def members(self, group: str) -> list[MemberOut]:
        """Return who is in a group."""
        return self._list(MemberOut, f"/groups/{group}/members")

    def tokens(self) -> list[SecretOut]:
        """Return one's tokens."""
        return self._list(SecretOut, "/tokens")

    def make_token(self, label: str = "", days: int = 30, scopes: Sequence[str] = ()) -> TokenOut:
        """Make a token.

        Args:
            label: a note for yourself.
            days: until it ends.
            scopes: some of ``read``, ``runs``, ``registry``; none: it may do all that you may.
        """
        body: dict[str, Any] = {"label": label, "days": days}
        if scopes:
            body["scopes"] = list(scopes)
        return self._one(TokenOut, "POST", "/tokens", json=body, again=False)

    def end_token(self, id: str) -> None:
        """End a token."""
        self._send.send("DELETE", f"/tokens/{id}")

    def keys(self, kind: KeyKind) -> list[KeyOut]:
        """Return one's ssh or deploy keys."""
        return self._list(KeyOut, f"/keys/{kind}")

    def put_key(self, kind: KeyKind, name: str, value: str) -> KeyOut:
        """Store a key: the public one for ssh, the private one for deploying."""
        body = {"value" if kind == "ssh" else "private_key": value}
        return self._one(KeyOut, "PUT", f"/keys/{kind}/{name}", json=body)

    def pushed_images(self, *, user: str | None = None, group: str | None = None) -> list[PushedOut]:
        """Return the images that one and one's groups have pushed; or a user's or a group's."""
        return self._list(PushedOut, "/pushed-images", {"user": user, "group": group})

    def delete_pushed_image(self, name: str) -> PushedImageOut:
        """Delete an image, as ``users/NAME/IMAGE:TAG``, with all its tags; ApiError 409 while something uses it."""
        path = f"/pushed-images/{quote(name, safe='/:@')}"
        return self._one(PushedImageOut, "DELETE", path)

    def delete_key(self, kind: KeyKind, name: str) -> None:
        """Remove a key."""
        self._send.send("DELETE", f"/keys/{kind}/{name}")
