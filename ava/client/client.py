"""The client: one method per thing that the API can do."""

from __future__ import annotations

import platform
from pathlib import Path
from types import TracebackType

import httpx

from ava.client.account import AccountApi
from ava.client.admin import AdminApi
from ava.client.data_sets import DataSetsApi
from ava.client.runs import RunsApi
from ava.client.transport import Transport, http_client
from ava.client.workbenches import WorkbenchesApi
from ava.schemas.users import SessionOut, TokenOut, UserOut

COOKIE = "__Host-ava"


class Client(RunsApi, DataSetsApi, WorkbenchesApi, AccountApi, AdminApi):
    """Talks to one AVA. Use as ``with Client(server, token=…) as ava``.

    Args:
        server: ``https://HOST[:PORT]``.
        token: what ``login`` or POST /tokens has answered.
        ca: certificates of the authority that signed the server's.
        http: connections to use instead, for tests.
    """

    def __init__(
        self,
        server: str,
        *,
        token: str | None = None,
        ca: Path | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(Transport(http or http_client(server, ca), token))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give connections back."""
        self._send.http.close()

    def login(self, name: str, password: str, *, label: str | None = None, days: int = 30) -> str:
        """Return a new token for a name and a password; this client uses it from then on.

        The session that it takes is ended at once: nothing but the token is left.
        """
        answer = self._send.send("POST", "/sessions", json={"name": name, "password": password}, again=False)
        session = SessionOut.model_validate_json(answer.content)
        headers = {"cookie": f"{COOKIE}={answer.cookies.get(COOKIE)}", "x-csrf-token": session.csrf}
        self._send.http.cookies.clear()
        self._send.token = None
        body = {"label": label if label is not None else f"ava on {platform.node()}"[:100], "days": days}
        made = self._send.send("POST", "/tokens", json=body, headers=headers, again=False)
        token = TokenOut.model_validate_json(made.content).token
        self._send.send("DELETE", "/sessions/current", headers=headers, again=False)
        self._send.http.cookies.clear()
        self._send.token = token
        return token

    def logout(self) -> None:
        """End the token."""
        self._send.send("DELETE", "/sessions/current", again=False)
        self._send.token = None

    def use_invitation(self, invitation: str, password: str) -> None:
        """Choose one's password by an invitation; it is good once."""
        body = {"invitation": invitation, "password": password}
        self._send.send("POST", "/invitations", json=body, again=False)

    def register(self, name: str, email: str, password: str) -> UserOut:
        """Ask for an account; an administrator approves it."""
        body = {"name": name, "email": email, "password": password}
        return UserOut.model_validate_json(self._send.send("POST", "/registrations", json=body).content)
