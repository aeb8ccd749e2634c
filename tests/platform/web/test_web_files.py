"""Files of a data set in a real browser: sent, cut off and gone on with after a reload, browsed, fetched, replaced, removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.platform.web.conftest import PATIENCE, Town, apart, enter, unfit

EVIL = '<img src=x onerror="document.title=1">'
MIB = 2**20
KEPT = 6000
"""Milliseconds after which Chromium has written down what a page keeps."""


def opened(town: Town, owner: str = "ann") -> tuple[Page, str, Path]:
    one, folder = town.served.data_set(owner, "faces")
    page = town.log_in(owner)
    page.goto(f"/data/{one}")
    return page, one, folder


def send(page: Page, *files: Path) -> None:
    page.locator("input[data-send][multiple]").set_input_files(list(files))


@pytest.mark.slow
def test_a_file_that_is_cut_off_goes_on_after_a_reload(town: Town, tmp_path: Path) -> None:
    page, _, folder = opened(town)
    expect(page.locator("#files")).to_contain_text("There is no file yet.")
    file, content = tmp_path / "train 100%.tar", os.urandom(40 * MIB)
    file.write_bytes(content)
    asked: list[tuple[str, str]] = []

    def away(method: str, path: str) -> int:
        asked.append((method, path))
        # The second part finds the storage away; so does anyone who asks what has come.
        return 503 if method in ("PATCH", "HEAD") and [m for m, _ in asked].count("PATCH") > 1 else 0

    town.served.refuse = away
    send(page, file)
    row = page.locator(".uploads li")
    expect(row).to_contain_text("The connection was cut; trying again.")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    town.served.refuse = lambda method, path: 0
    page.reload()
    expect(row).to_contain_text("Cut off at 32 MiB of 40 MiB")
    assert unfit(page) == []
    begun = len(asked)
    town.served.refuse = lambda method, path: asked.append((method, path)) or 0
    send(page, file)
    expect(row).to_contain_text("Uploaded, 40 MiB")
    assert [method for method, _ in asked[begun:] if method in ("POST", "PATCH")] == ["PATCH"]
    assert (folder / "train 100%.tar").read_bytes() == content
    expect(page.locator("#files tbody tr")).to_contain_text("train 100%.tar")
    with page.expect_download() as fetched:
        page.get_by_role("link", name="Download: train 100%.tar").click()
    assert fetched.value.suggested_filename == "train 100%.tar"
    assert Path(fetched.value.path()).read_bytes() == content
    assert [c for c in town.complaints if "503" not in c] == []


@pytest.mark.slow
def test_an_upload_goes_on_after_the_browser_was_killed(town: Town, tmp_path: Path) -> None:
    one, folder = town.served.data_set("ann", "faces")
    profile, file, content = tmp_path / "profile", tmp_path / "train.tar", os.urandom(72 * MIB)
    file.write_bytes(content)
    asked: list[str] = []

    def away(method: str, path: str) -> int:
        asked.append(method)
        return 503 if method in ("PATCH", "HEAD") and asked.count("PATCH") > 2 else 0

    town.served.refuse = away
    page = started(town, profile, one)
    send(page, file)
    expect(page.locator(".uploads li")).to_contain_text("The connection was cut; trying again.")
    # What a page keeps a browser writes down within seconds.
    page.wait_for_timeout(KEPT)
    assert killed(profile) > 0
    begun = len(asked)
    town.served.refuse = lambda method, path: asked.append(method) or 0
    page = started(town, profile, one)
    row = page.locator(".uploads li")
    expect(row).to_contain_text("Cut off at 64 MiB of 72 MiB")
    send(page, file)
    expect(row).to_contain_text("Uploaded, 72 MiB")
    assert [method for method in asked[begun:] if method == "PATCH"] == ["PATCH"]
    assert (folder / "train.tar").read_bytes() == content
    page.context.close()


def started(town: Town, profile: Path, data_set: str) -> Page:
    """Start a browser of its own with a profile, and open a data set."""
    context = town.browser.browser_type.launch_persistent_context(
        profile,
        executable_path=shutil.which("chromium"),
        args=["--no-sandbox"],
        base_url=town.served.url,
        locale="en-US",
    )
    page = context.pages[0]
    page.set_default_timeout(PATIENCE)
    enter(page, "ann").goto(f"/data/{data_set}")
    return page


def killed(profile: Path) -> int:
    """Kill the processes of the browser that has a profile; return how many there were."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"--user-data-dir={profile}".encode() in (place / "cmdline").read_bytes().split(b"\0"):
                found.append(int(place.name))
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


def test_what_is_there_is_replaced_only_when_that_is_shown_and_is_removed(town: Town, tmp_path: Path) -> None:
    page, _, folder = opened(town)
    file = tmp_path / "labels.csv"
    (folder / "labels.csv").write_text("old")
    file.write_text("new")
    send(page, file)
    row = page.locator(".uploads li")
    expect(row).to_contain_text("There is something of this name already.")
    assert (folder / "labels.csv").read_text() == "old"
    row.get_by_role("button", name="Replace it").click()
    expect(row).to_contain_text("Uploaded, 3 B")
    assert (folder / "labels.csv").read_text() == "new"
    empty = tmp_path / "empty"
    empty.touch()
    send(page, empty)
    expect(row.nth(1)).to_contain_text("Uploaded, 0 B")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete: labels.csv").click()
    expect(page.locator("#files tbody tr")).to_have_count(1)
    assert [p.name for p in folder.iterdir()] == ["empty"]


def test_names_are_text_and_folders_are_turned_over_in_pages(town: Town, tmp_path: Path) -> None:
    page, one, folder = opened(town)
    below = folder / "sub dir" / "a#b?c&d"
    below.mkdir(parents=True)
    (below / EVIL.replace("/", "")).write_text("x")
    (below / os.fsdecode(b"\xff\xfe")).write_text("x")
    (folder / "link").symlink_to("/etc/passwd")
    for number in range(120):
        (folder / "sub dir" / f"file-{number:03}").touch()
    page.reload()
    expect(page.locator("#files tbody tr").first).to_contain_text("link, not followed")
    page.get_by_role("link", name="sub dir/").click()
    expect(page.locator("#files tbody tr")).to_have_count(100)
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#files tbody tr")).to_have_count(21)
    page.get_by_role("button", name="First page").click()
    page.get_by_role("link", name="a#b?c&d/").click()
    expect(page.locator("#files tbody")).to_contain_text(EVIL)
    assert page.locator("#files td img").count() == 0
    assert page.title() == "faces · AVA"
    page.reload()
    expect(page.locator("#files .crumbs")).to_have_text("faces / sub dir / a#b?c&d")
    for way in ("#/..%2f..%2f..", "#/../../etc", "#/%00", "#/" + "x" * 300):
        page.goto(f"/data/{one}{way}")
        page.reload()
        expect(page.locator("#files .list .error")).to_be_visible()
        assert page.locator("#files tbody").count() == 0
    page.goto(f"/data/{one}#/")
    page.reload()
    send(page, *_odd(tmp_path))
    rows = page.locator(".uploads li")
    expect(rows.nth(0)).to_contain_text("This is no path of a file in a data set.")
    expect(rows.nth(1)).to_contain_text("Uploaded, 0 B")
    assert [c for c in town.complaints if "status of 4" not in c] == []


def test_while_a_run_has_it_files_wait_and_the_data_set_stays(town: Town, tmp_path: Path) -> None:
    page, one, folder = opened(town)
    town.served.admit(apart(lambda: town.served.run(data_sets=[{"name": "faces"}])["id"]))
    page.reload()
    file = tmp_path / "late"
    file.write_text("x")
    send(page, file)
    row = page.locator(".uploads li")
    expect(row).to_contain_text("The data set faces is read by runs.")
    expect(page.get_by_role("heading", name="In use by")).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(".head").first.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("alert")).to_contain_text("faces")
    assert town.served.db.data_sets.get(one).name == "faces"
    assert not (folder / "late").exists()


def _odd(folder: Path) -> list[Path]:
    made = [folder / name for name in ("line\nbreak", "x" * 250)]
    for path in made:
        path.touch()
    return made


def test_who_reads_fetches_and_sends_nothing_and_a_stranger_sees_nothing(town: Town) -> None:
    _, one, folder = opened(town)
    (folder / "a").write_text("x")
    town.served.db.data_sets.share(one, "user", "ben", town.served.now)
    ben = town.log_in("ben")
    ben.goto(f"/data/{one}")
    expect(ben.get_by_role("link", name="Download: a")).to_be_visible()
    assert ben.locator("#files :is(input, button)").count() == 0
    for method, path in (("POST", f"{one}/uploads"), ("DELETE", f"{one}?path=a")):
        status = ben.evaluate(
            """([method, path, csrf]) => fetch(`/api/v1/files/${path}`, {method, headers: {"x-csrf-token": csrf,
            "upload-length": "1", "upload-metadata": "filename YQ=="}}).then(a => a.status)""",
            [method, path, ben.locator("#files").get_attribute("data-csrf")],
        )
        assert status == 403, method
    eve = town.log_in("eve")
    assert eve.goto(f"/data/{one}").status == 404
    asked = "path => fetch(`/api/v1/files/${path}`).then(a => a.status)"
    assert [eve.evaluate(asked, p) for p in (one, f"{one}/content?path=a")] == [404, 404]
    # Without the token of the session a page of another tab changes nothing.
    ann = town.log_in("ann")
    refused = "path => fetch(`/api/v1/files/${path}`, {method: 'DELETE'}).then(a => a.status)"
    assert ann.evaluate(refused, f"{one}?path=a") == 403
    assert (folder / "a").exists()
