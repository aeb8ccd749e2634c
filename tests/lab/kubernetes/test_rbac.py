"""What each role may, asked of the API for the whole matrix (tests/rbac.yml), and tried with the accounts' kubeconfigs."""

import base64
import http.client
import json
import os
import ssl
import subprocess
from urllib.parse import urlsplit

import pytest
import yaml

from avadm.artifacts.manifest import named
from avadm.artifacts.store import ArtifactStore
from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.conftest import IMAGE
from tests.lab.waiting import wait
from tests.rbac import ROLES, trials

pytestmark = pytest.mark.lab
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@pytest.fixture(scope="module")
def accounts(lab):
    """Role to the first account of the lab's site file that has it."""
    knobs = yaml.safe_load(lab.site_path.read_text())["components"]["kubernetes"]
    found = {}
    for account in knobs.get("accounts", []):
        found.setdefault(account["role"], account)
    assert set(found) == set(ROLES), f"{lab.site_path}: a lab of before the accounts; write it again"
    return found


@pytest.fixture(scope="module")
def places(accounts):
    """Kind of place to namespaces."""
    own = accounts["tenant"]["namespaces"]
    return {"own": own, "other": ["lab-neighbour", "kube-system", "default"], "none": [None]}


@pytest.fixture(scope="module")
def review(lab, tmp_path_factory):
    """Ask the API, as the administrator, whether somebody may do something: the question of `kubectl auth can-i`."""
    config = yaml.safe_load(lab.site_path.with_suffix(".kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    pem = tmp_path_factory.mktemp("admin", numbered=True) / "admin.pem"
    pem.touch(0o600)
    pem.write_bytes(
        b"".join(base64.b64decode(user[k]) for k in ("client-certificate-data", "client-key-data"))
    )
    context = ssl.create_default_context(
        cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
    )
    context.load_cert_chain(pem)
    pem.unlink()
    connection = http.client.HTTPSConnection(urlsplit(cluster["server"]).netloc, timeout=20, context=context)

    def ask(user, groups, attributes):
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
        }
        connection.request("POST", REVIEWS, json.dumps(body), {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        return answer["status"]["allowed"]

    yield ask
    connection.close()


@pytest.fixture(scope="module")
def ctl(lab, accounts):
    """Run kubectl here with the kubeconfig of a role's account."""
    program = ArtifactStore.default().folder(named(("kubernetes",))[0]) / "hyperkube"

    def run(role, command, given=None):
        path = lab.site_path.with_suffix(f".account-{accounts[role]['name']}.kubeconfig")
        return subprocess.run(
            [program, "kubectl", f"--kubeconfig={path}", "--request-timeout=20s", *command.split()],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "HOME": "/nonexistent"},
        )

    return run


def refused(done):
    """Tell whether the API refused what was tried, and nothing else went wrong."""
    return done.returncode != 0 and "forbidden" in done.stderr.lower()


@pytest.mark.parametrize("role", ROLES)
def test_the_api_says_of_each_role_what_the_matrix_says(review, accounts, places, role):
    groups, wrong = [f"avadm:{role}", "system:authenticated"], []
    for trial in (t for t in trials() if t.role == role):
        for namespace in places[trial.place]:
            attributes = {
                "verb": trial.verb,
                "group": trial.group,
                "resource": trial.resource,
                "subresource": trial.subresource,
                "namespace": namespace or "",
            }
            if review(accounts[role]["name"], groups, attributes) != trial.may:
                wrong.append(f"{trial}: {namespace} (matrix: {trial.may})")
    assert wrong == []


@pytest.mark.core("accounts")
@pytest.mark.parametrize(
    ("role", "question", "answer"),
    [
        ("viewer", "list pods --all-namespaces", "yes"),
        ("viewer", "get secrets -n kube-system", "no"),
        ("operator", "patch nodes", "yes"),
        ("operator", "create pods --subresource=exec -n default", "no"),
        ("tenant", "create deployments.apps -n lab-tenant", "yes"),
        ("tenant", "create deployments.apps -n lab-neighbour", "no"),
    ],
)
def test_kubectl_says_the_same(kube, accounts, role, question, answer):
    who = f"--as={accounts[role]['name']} --as-group=avadm:{role} --as-group=system:authenticated"
    reply = kube.lab.run(kube.master, f"kubectl auth can-i {question} {who}").stdout
    assert reply.split() and reply.split()[0] == answer


@pytest.mark.core("accounts")
def test_the_group_alone_gives_nothing(review):
    """Rights are bound to users, so that they end with the account and not with its certificate."""
    for role in ROLES:
        asked = {"verb": "list", "resource": "pods", "namespace": "lab-tenant"}
        assert not review("former", [f"avadm:{role}", "system:authenticated"], asked)


def test_a_tenant_works_in_its_own_namespace(ctl):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "rbac"},
        "spec": {"containers": [{"name": "c", "image": IMAGE, "imagePullPolicy": "Never"}]},
    }
    try:
        made = ctl("tenant", "create -f -", json.dumps(pod))
        assert made.returncode == 0, made.stderr
        phase = "get pod rbac -o jsonpath={.status.phase}"
        assert wait(lambda: ctl("tenant", phase).stdout == "Running", 60)
        assert ctl("tenant", "logs rbac").returncode == 0
        assert refused(ctl("tenant", "exec rbac -- true"))
        assert refused(ctl("tenant", "attach rbac"))
        assert refused(ctl("tenant", "port-forward rbac 18080:8080"))
        made = ctl("tenant", "create secret generic rbac --from-literal=word=horse")
        assert made.returncode == 0, made.stderr
        assert ctl("tenant", "get secret rbac -o jsonpath={.data.word}").stdout == "aG9yc2U="
    finally:
        ctl("tenant", "delete pod rbac --now --ignore-not-found")
        ctl("tenant", "delete secret rbac --ignore-not-found")


@pytest.mark.parametrize(
    "command",
    [
        "get pods -n lab-neighbour",
        "get secrets -n kube-system",
        "get pods --all-namespaces",
        "get nodes",
        "create namespace mine",
        "create quota mine --hard=pods=1000",
        "create rolebinding mine --clusterrole=cluster-admin --user=lab-tenant",
        "create clusterrolebinding mine --clusterrole=cluster-admin --user=lab-tenant",
        "delete rolebinding avadm:tenant",
        "get --raw=/api/v1/namespaces/kube-system/services/kube-dns/proxy/",
    ],
)
def test_a_tenant_is_refused_all_else(ctl, command):
    done = ctl("tenant", command)
    assert refused(done), (done.returncode, done.stdout, done.stderr)


def test_a_viewer_sees_all_but_secrets_and_changes_nothing(ctl):
    assert ctl("viewer", "get pods,services --all-namespaces").returncode == 0
    assert ctl("viewer", "get nodes").returncode == 0
    # kubectl looks for what it is to delete: that must be there.
    for command in ("get secrets", "create configmap mine", "delete serviceaccount default"):
        command += " -n lab-tenant"
        assert refused(ctl("viewer", command)), command


def test_an_operator_cordons_a_node_and_takes_it_back(ctl, kube, lab):
    worker = lab.names("worker")[-1]
    try:
        done = ctl("operator", f"cordon {worker}")
        assert done.returncode == 0, done.stderr
        assert kube.get(f"node {worker}")["spec"]["unschedulable"]
    finally:
        done = ctl("operator", f"uncordon {worker}")
    assert done.returncode == 0, done.stderr
    assert refused(ctl("operator", "get secrets -n lab-tenant"))
    assert refused(ctl("operator", "delete node none"))


@pytest.mark.slow
def test_who_is_no_account_any_more_loses_the_binding(kube):
    """The binding of an account that is not in the site file goes with the next apply; others stay."""
    kube.ctl("create rolebinding former --clusterrole=avadm:tenant --user=former -n lab-neighbour")
    try:
        kube.ctl("label rolebinding former avadm.io/accounts=tenant -n lab-neighbour")
        done = avadm("apply", "--force", "addons", timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        left = [b["metadata"]["name"] for b in kube.get("rolebindings -n lab-neighbour")["items"]]
        assert left == ["avadm:tenant"]
    finally:
        kube.ctl("delete rolebinding former -n lab-neighbour --ignore-not-found")
