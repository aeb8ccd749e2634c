"""Pages that no address alone shows: what a form answers when it is refused, secrets shown once, errors."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

from tests.unit.ava.web.rows import ANN, ANONYMOUS, ROOT

Act = Callable[[Page], None]
WRONG = "short"


def sent(path: str, button: str, **fields: str) -> Act:
    """Return what opens a page, fills in fields by their names, and sends the form that has them (its ``button``)."""

    def act(page: Page) -> None:
        page.goto(path)
        for name, text in fields.items():
            page.locator(f"main [name='{name}']").first.fill(text)
        # ApiError by the server, not by the browser, whose own words have no place on the page.
        page.evaluate("document.querySelectorAll('form').forEach(f => { f.noValidate = true; })")
        with page.expect_navigation():
            page.locator(button).first.click()

    return act


def opened(path: str) -> Act:
    """Return what opens an address at which something goes wrong."""

    def act(page: Page) -> None:
        page.goto(path)

    return act


def twice(word: str, **more: str) -> dict[str, str]:
    """Return a new password that differs the second time."""
    return {"password": word, "again": word + "x", **more}


SUBMIT = "main form button.main"
STATES: dict[str, tuple[str, Act]] = {
    "a login that is refused": (ANONYMOUS, sent("/login", SUBMIT, name="ann", password=WRONG)),
    "a registration that is refused": (
        ANONYMOUS, sent("/register", SUBMIT, **twice(WRONG, name="Not A Name", email="nobody")),
    ),
    "an invitation that is refused": (
        ANONYMOUS, sent("/invitation#once", SUBMIT, **twice("a password of twelve")),
    ),
    "an invitation that is not known": (
        ANONYMOUS, sent("/invitation", SUBMIT, invitation="none", password="a password of twelve", again="a password of twelve"),
    ),
    "a login that comes back": (ANONYMOUS, opened("/runs?phase=queued")),
    "no page, without a login": (ANONYMOUS, opened("/nothing")),
    "no page": (ANN, opened("/nothing")),
    "not one's own": ("eve", opened("/groups/vision")),
    "not for users": (ANN, opened("/admin/users")),
    "a cursor that is not of this list": (ROOT, opened("/admin/groups?after=broken")),
    "a password that is not changed": (
        ANN, sent("/account", "form[action$='/password'] button", current=WRONG, new="a password of twelve", again="another"),
    ),
    "a token, shown once": (ANN, sent("/tokens", SUBMIT, label="a program")),
    "an invitation, shown once": (ROOT, sent("/admin/users/ben", "form[action$='/invitation'] button")),
    "a confirmation that is refused": (ANN, sent("/confirm-email?confirmation=x", SUBMIT)),
    "a key that is refused": (ANN, sent("/keys", SUBMIT, name="laptop", value="no key")),
    "a training that is refused": (ANN, sent("/trainings/new", "button[value=start]", name="Not A Name")),
    "a service that is refused": (
        ANN, sent("/services/new", "button[value=start]", name="x", **{"serving.port": "80", "scaling.least": "9"}),
    ),
    "a data set that is refused": (ANN, sent("/data", SUBMIT, name="Not A Name")),
    "a data set of another source that is refused": (
        ROOT, sent("/data/new?source=nfs", SUBMIT, name="x", server="other.example.org"),
    ),
    "a queue that is not made": (ROOT, sent("/queues?new=1", SUBMIT, name="Not A Name")),
    "a pool that is not deleted": (ROOT, sent("/pools", "form[action='/pools/gpu/delete'] button")),
    "a pool that is not made": (ROOT, sent("/pools?new=1", SUBMIT, name="x", selector="no label")),
    "a group that is not made": (ROOT, sent("/admin/groups", SUBMIT, name="Not A Name")),
    "an account that is not made": (
        ROOT, sent("/admin/users", "form[action='/admin/users'] button", name="x", email="nobody", password=WRONG),
    ),
}  # fmt: skip
"""What is shown, to whom, and what leads to it."""
