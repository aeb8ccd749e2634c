"""A user's workbench through the ingress and by ssh: for its owner alone."""

import pytest

from tests.lab.ava.bench_ways import Browser, Kernel, Ssh

pytestmark = pytest.mark.lab


@pytest.mark.core("workbenches")
def test_its_owner_alone_gets_into_jupyter_and_runs_a_cell(people, bench):
    page = people.ann.enter(bench.url)
    assert "JupyterLab" in page.text
    assert Kernel(people.ann.browser, bench.url).run("import os; print(os.getuid())").strip() == str(
        people.ann.ava.me().uid
    )
    strange = people.eve.browser.get(bench.url)
    assert strange.status_code == 404, "what is not hers does not exist for her"
    assert "JupyterLab" not in strange.text
    anonymous = Browser(people.ann.authority).ask("GET", bench.url, accept="application/json")
    assert anonymous.status_code == 401


@pytest.mark.core("workbenches")
def test_its_owner_alone_gets_in_by_ssh(people, bench, gateway):
    assert bench.ssh.run("bench", "id -u; echo $AVA_RUN").stdout.split() == [
        str(people.ann.ava.me().uid),
        bench.it.run,
    ]
    strange = Ssh(people.eve.folder, bench.it.ssh, gateway).write()
    people.eve.ava.put_key("ssh", "laptop", strange.public)
    assert "Permission denied" in strange.run("bench", "true", check=False).stderr
