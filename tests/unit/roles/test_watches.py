"""K10: anyone who watches Kubernetes says how long, since the API server ends some watches after a minute."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLIENTS = [
    path.relative_to(ROOT)
    for place in ("roles/*/files/*", "avadm_node/**/*.py", "validation/avadm_validation/tools/*.py")
    for path in ROOT.glob(place)
    if path.is_file() and path.suffix in ("", ".py") and "watch=" in path.read_text(errors="ignore")
]


def test_the_clients_are_found():
    assert {str(p) for p in CLIENTS} >= {
        "avadm_node/kubeapi.py",
        "validation/avadm_validation/tools/kubeload.py",
    }


@pytest.mark.parametrize("path", CLIENTS, ids=str)
def test_every_watch_says_when_it_ends(path):
    lines = [line for line in (ROOT / path).read_text().splitlines() if "watch=" in line]
    assert [line for line in lines if "timeoutSeconds=" not in line] == []
