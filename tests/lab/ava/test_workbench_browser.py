"""A workbench in a real browser: its owner logs in, opens JupyterLab and runs a cell."""

import shutil

import pytest

from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]
playwright = pytest.importorskip("playwright.sync_api")
CELL, OUTPUT = ".jp-Notebook .jp-CodeCell >> nth=0 >>", ".jp-OutputArea-output pre >> nth=0"
SECONDS = 90_000
"""A workbench of 0.2 cores takes ten seconds to show its first page."""


@pytest.fixture
def page(platform):
    """A page of Chromium that knows the platform's names; that its certificate is verified others test."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium here; scripts/test-platform installs it")
    names = f"MAP {platform.host} {platform.address},MAP *.wb.{platform.host.partition('.')[2]} {platform.address}"
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", f"--host-resolver-rules={names}"]
        )
        made = browser.new_context(ignore_https_errors=True).new_page()
        made.set_default_timeout(SECONDS)
        yield made
        browser.close()


def test_its_owner_logs_in_opens_jupyterlab_and_runs_a_cell(people, bench, page):
    page.goto(f"{people.ann.site}/login")
    page.fill("input[name=name]", people.ann.name)
    page.fill("input[name=password]", people.ann.password)
    page.click("button.main")
    page.wait_for_url(lambda url: not url.endswith("/login"))
    page.goto(bench.url)
    page.click(".jp-LauncherCard[data-category=Notebook]")
    page.click(f"{CELL} .cm-content")
    page.keyboard.type("import os; print(6 * 7, os.environ['AVA_RUN'])")

    def ran():
        # A cell that is run before its kernel is there is not kept for it, though the kernel is shown as idle.
        page.click(f"{CELL} .cm-content")
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(3000)
        return page.locator(OUTPUT).count() and page.text_content(OUTPUT).split()

    assert until(ran, 90) == ["42", bench.it.run]
    # No one is asked whether news of the internet are wanted.
    assert page.locator("text=official Jupyter news").count() == 0
