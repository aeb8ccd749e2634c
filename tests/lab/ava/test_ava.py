"""The platform as it was installed: users get in by TLS alone, its pods may do nothing, its keys are no one else's."""

import json

import pytest

pytestmark = pytest.mark.lab


@pytest.mark.core("ava")
def test_users_get_in_by_tls_and_are_sent_there(platform):
    status, text = platform.ask("/api/v1/openapi.json")
    assert status == "200"
    assert json.loads(text)["info"]["title"] == "AVA"
    status, _ = platform.ask("/api/v1/openapi.json", scheme="http")
    assert status == f"301 https://{platform.host}/api/v1/openapi.json"


@pytest.mark.core("ava")
def test_one_of_each_acts_and_all_are_ready(platform):
    found = platform.ctl("get deployments --namespace=ava-system")["items"]
    ready = {d["metadata"]["name"]: d["status"].get("availableReplicas", 0) for d in found}
    assert ready == dict.fromkeys(("api", "gate", "jump", "operator", "scheduler", "storage"), 2)
    maps = platform.ctl("get configmaps --namespace=ava-system")["items"]
    notes = {m["metadata"]["name"]: m["metadata"].get("annotations", {}) for m in maps}
    for part in ("operator", "scheduler", "storage"):
        assert json.loads(notes[f"ava-{part}"]["ava.io/leader"])["holder"].startswith(part)


def test_an_administrator_is_made_once_and_gets_in(platform):
    assert platform.make_admin().stdout == f"{platform.admin} is an administrator now.\n"
    again = platform.make_admin()
    assert (again.returncode, again.stdout) == (0, f"{platform.admin} is one already.\n")
    short = platform.make_admin("short")
    assert short.returncode != 0
    assert "at least 12" in short.stdout + short.stderr
    for word, status in ((platform.password, "201"), ("wrong-" + platform.password, "401")):
        body = json.dumps({"name": platform.admin, "password": word})
        got, _ = platform.ask(
            "/api/v1/sessions", "-X POST", "-H 'content-type: application/json'", f"-d '{body}'"
        )
        assert got == status, word


def test_no_process_has_the_password_in_its_arguments_or_environment(platform, lab):
    kept = platform.ctl("get secret --namespace=ava-system database")["data"]["pgpass"]
    files = "/proc/[0-9]*/cmdline /proc/[0-9]*/environ"
    line = f"echo {kept} | base64 -d | cut -d: -f5 > /dev/shm/t && grep -lzaf /dev/shm/t {files}"
    for node in {p["spec"]["nodeName"] for p in platform.ctl("get pods --namespace=ava-system")["items"]}:
        assert lab.sh(node, "grep -lza ava.operator /proc/[0-9]*/cmdline").strip(), (
            "their processes are seen from here"
        )
        assert lab.run(node, f"{line}; rm -f /dev/shm/t").stdout.strip() == ""


def test_a_pod_of_another_user_s_does_not_reach_its_pods(platform, lab):
    found = platform.ctl("get pods --namespace=ava-system --selector=app=ava")["items"]
    addresses = {p["status"]["podIP"] for p in found if p["status"].get("podIP")}
    name, image = "ava-neighbour", found[0]["spec"]["containers"][0]["image"]
    program = (
        "import socket, sys\n"
        "for a in sys.argv[1:]:\n"
        "  for port in (8080, 9090):\n"
        "    s = socket.socket(); s.settimeout(2)\n"
        "    print(a, port, s.connect_ex((a, port)))\n"
    )
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [
                {"name": "ask", "image": image, "command": ["python3", "-c", program, *sorted(addresses)]},
            ],
        },
    }
    try:
        lab.sh(platform.master, f"kubectl apply -f - <<'END'\n{json.dumps(pod)}\nEND")
        done = f"kubectl get pod {name} -o jsonpath={{.status.phase}} | grep -q Succeeded"
        wait = f"for i in $(seq 90); do {done} && break; sleep 1; done"
        reply = lab.sh(platform.master, f"{wait}; kubectl logs {name}").splitlines()
    finally:
        lab.sh(platform.master, f"kubectl delete pod {name} --ignore-not-found --grace-period=0 --force")
    assert len(reply) == 2 * len(addresses)
    assert all(line.split()[2] != "0" for line in reply), reply


def test_the_init_process_is_there_and_no_one_but_root_may_change_it(platform, lab):
    for node in platform.ctl("get nodes --selector=node-role.kubernetes.io/worker=")["items"]:
        name = node["metadata"]["name"]
        assert lab.sh(name, "stat -c '%U:%G %a' /usr/lib/ava/init").strip() == "root:root 755"
        assert "tini version 0.19" in lab.sh(name, "/usr/lib/ava/init --version")


def test_the_death_of_who_acts_is_made_good_within_half_a_minute(platform, lab):
    def holder():
        maps = platform.ctl("get configmap --namespace=ava-system ava-scheduler")
        return json.loads(maps["metadata"]["annotations"]["ava.io/leader"])["holder"].partition("_")[0]

    before = holder()
    lab.sh(platform.master, f"kubectl delete pod --namespace=ava-system {before} --grace-period=0 --force")
    look = (
        "for i in $(seq 30); do kubectl get configmap --namespace=ava-system ava-scheduler -o yaml | "
        f"grep -o 'holder[^,]*' | grep -v {before} | grep -q scheduler && break; sleep 1; done; echo $i"
    )
    assert int(lab.sh(platform.master, look)) < 30
    assert holder() != before
