"""What the platform's pods, rights and network policies are, as the role's templates write them."""

import base64
import re

import pytest
import yaml

from avadm.components.ava import component
from avadm.components.ava import variables as ava
from avadm.components.catalog import COMPONENTS
from avadm.components.database import variables as database
from avadm.components.logs import variables as logs
from avadm.pki.store import KeyStore
from avadm_node.probes.ava import manifests
from tests.unit.fakes import sites
from tests.unit.fakes.roles import given, holds, read, template, value
from tests.unit.fakes.sites import node

ARCHIVE = {
    "path": "/c/image.tar",
    "sha256": "1",
    "image": "avadm/ava:0.1.0-abc",
    "image_id": "sha256:" + "f" * 64,
}


def site(**components):
    return sites.site(
        node("k1", 1, "etcd", "master"),
        node("w1", 2, "worker", "dns", "ingress", "registry"),
        node("w2", 3, "worker", "gpu", "ingress", gpus={"count": 4, "model": "v100"}),
        node("d1", 4, "database"),
        node("d2", 5, "database"),
        components={"database": {"vip": "10.0.0.99"}, "ava": {}} | components,
    )


SITE = site()


def rendered(tmp_path, of=SITE):
    return sites.render(of, logs, database, ava, store=sites.issued(of, tmp_path))


def objects(tmp_path, name, of=SITE, **more):
    """Return a manifest's objects by kind and name."""
    found = [
        one for one in yaml.load_all(manifest(tmp_path, name, of, **more), Loader=yaml.CSafeLoader) if one
    ]
    return {f"{one['kind']} {one['metadata']['name']}": one for one in found}


def manifest(tmp_path, name, of=SITE, **more):
    """Return a manifest as the role writes it."""
    certificates = None if any((tmp_path).iterdir()) else sites.issued(of, tmp_path)
    out = sites.render(of, logs, database, ava, store=certificates or KeyStore.open(tmp_path / "demo.yml"))
    secret = dict.fromkeys(out.secrets, "made")
    secret |= {
        "vault_database_ava": "pass:word",
        "vault_ava_sealing_key": "key",
        "vault_logs_reader_password": "l",
    }
    kept = {
        "ava-image": {"version": "0.1.0-abc", "files": {"image.tar": ARCHIVE}},
        "ava-init": {"files": {"init": {}}},
        "ava-base": {"version": "1", "files": {"image.tar": ARCHIVE | {"image": "avadm/ava-base:1"}}},
    }
    have = given("ava") | out.all | secret | {"artifacts": kept} | more
    for _ in range(4):
        have = {k: value(v, **have) if k.startswith(("ava_", "_ava_")) else v for k, v in have.items()}
    return template(f"ava/templates/{name}", **have)


def test_manifests_that_an_upgrade_keeps_are_known_by_the_tag_of_their_image(tmp_path):
    folder = tmp_path / "kubernetes"
    texts = {
        f"{name}.yml": manifest(tmp_path, f"{t}.yml.j2")
        for name, t in (("ava", "parts"), ("ava-base", "base"))
    }
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    assert set(texts) == set(manifests.NAMES)
    found = manifests.ask({}, str(folder), str(tmp_path / "kept"))
    assert found == {"written": "0.1.0-" + "f" * 12, "kept": []}


MADE = {
    "Write manifests",
    "Apply the namespace, rights and network policies",
    "Apply the secrets",
    "Run database migrations",
    "Wait for the database",
}
ROLLED = {"Run API, operator, scheduler and the ways into workbenches", "Wait for the deployments"}


@pytest.mark.parametrize(
    ("more", "run"),
    [
        ({}, MADE | ROLLED),
        ({"ava_roll": False}, MADE),
        ({"ava_restore": "/k"}, {"Go back to the manifests of a former version", "Wait for the deployments"}),
    ],
    ids=["apply", "migrate", "restore"],
)
def test_an_upgrade_migrates_without_a_roll_and_goes_back_without_a_migration(more, run):
    have = {"ava_roll": True, "ava_restore": ""} | more
    tasks = read("ava", "tasks/main.yml")
    assert {t["name"] for t in tasks if "when" not in t or holds(t["when"], **have)} == run


def test_what_goes_back_applies_what_was_kept_and_nothing_else():
    tasks = read("ava", "tasks/restore.yml")
    assert [t["avadm_kube_objects"]["path"].rpartition("/")[2] for t in tasks] == list(manifests.NAMES)
    assert all(t["run_once"] for t in tasks)


def test_a_site_without_the_platform_is_reported_nothing(tmp_path):
    out = sites.render(site(ava=None), ava)
    assert not [name for name in out.all if name.startswith("ava_")]
    assert out.secrets == {}


def test_the_sealing_key_is_the_vault_s_and_as_fernet_wants_it(tmp_path):
    out = rendered(tmp_path)
    key = out.secrets[ava.SEALING_KEY]()
    assert len(base64.urlsafe_b64decode(key)) == 32
    assert key != out.secrets[ava.SEALING_KEY]()
    assert out.all["ava_sealing_key"] == "{{ vault_ava_sealing_key }}"
    assert out.all["ava_database_password"] == "{{ vault_database_ava }}"


def test_secrets_are_in_secrets_alone(tmp_path):
    held = objects(tmp_path, "secrets.yml.j2")
    kept = base64.b64decode(held["Secret database"]["data"]["pgpass"]).decode()
    assert kept == "*:*:ava:ava:pass\\:word\n", "a colon would end the password"
    assert "Secret logs" not in held
    for name in ("base.yml.j2", "migrate.yml.j2", "parts.yml.j2"):
        assert "pass:word" not in str(objects(tmp_path, name))


def test_each_process_gets_no_more_secrets_than_it_needs(tmp_path):
    parts = objects(tmp_path, "parts.yml.j2", site(logs={"stores": ["w1"]}))
    found = {
        name: {
            v["secret"]["secretName"]
            for v in parts[f"Deployment {name}"]["spec"]["template"]["spec"]["volumes"]
            if "secret" in v
        }
        for name in (*component.PARTS, "gate")
    }
    assert found == {
        "api": {"database", "sealing", "doors", "logs"},
        "gate": {"gate"},
        "operator": {"database", "sealing"},
        "scheduler": {"database"},
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "away"),
    [pytest.param(2, 0, 1, id="two take turns"), pytest.param(1, 1, 0, id="one is never away")],
)
def test_a_change_of_two_parts_needs_no_further_room(tmp_path, replicas, surge, away):
    parts = objects(tmp_path, "parts.yml.j2", site(ava={"replicas": replicas}))
    found = {name: one["spec"]["strategy"] for name, one in parts.items() if name.startswith("Deployment ")}
    assert len(found) > len(component.PARTS)
    assert [
        strategy
        for strategy in found.values()
        if strategy["rollingUpdate"] != {"maxSurge": surge, "maxUnavailable": away}
    ] == []


@pytest.mark.parametrize("name", [*component.PARTS, "gate"])
def test_a_process_may_do_nothing_on_its_node(tmp_path, name):
    pod = objects(tmp_path, "parts.yml.j2")[f"Deployment {name}"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not [v for v in pod["volumes"] if not {"configMap", "secret"} & set(v)], (
        "an emptyDir forbids draining its node"
    )
    assert pod["nodeSelector"]["avadm.io/pool"] == "cpu"
    assert pod["automountServiceAccountToken"] is (name not in ("api", "gate"))


def test_a_tag_is_the_image_s_own_digest_and_the_job_has_its_name(tmp_path):
    [job] = objects(tmp_path, "migrate.yml.j2").values()
    image = job["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.endswith("/avadm/ava:0.1.0-ffffffffffff")
    assert job["metadata"]["name"] == "migrate-0-1-0-ffffffffffff"
    assert (
        image
        == objects(tmp_path, "parts.yml.j2")["Deployment api"]["spec"]["template"]["spec"]["containers"][0][
            "image"
        ]
    )


def test_another_setting_or_secret_makes_other_pods_and_nothing_else_does(tmp_path):
    def notes(**more):
        return objects(tmp_path, "parts.yml.j2", **more)["Deployment api"]["spec"]["template"]["metadata"][
            "annotations"
        ]

    assert notes() == notes()
    assert notes() != notes(ava_settings={"api": {"session_hours": 1}})
    assert notes() != notes(vault_database_ava="other")


def test_no_one_comes_to_the_platform_but_who_must(tmp_path):
    base = objects(tmp_path, "base.yml.j2")
    whole, api = base["NetworkPolicy all"]["spec"], base["NetworkPolicy api"]["spec"]
    assert whole["podSelector"] == {}
    assert whole["policyTypes"] == ["Ingress", "Egress"]
    assert [f["ipBlock"]["cidr"] for f in whole["ingress"][0]["from"]] == ["10.0.0.1/32"]
    assert [f["ipBlock"]["cidr"] for f in api["ingress"][0]["from"]] == ["10.0.0.2/32", "10.0.0.3/32"]
    assert {p["port"] for rule in whole["egress"] for p in rule["ports"]} == {53, 5432}
    asked = base["NetworkPolicy kubernetes"]["spec"]
    assert "api" not in asked["podSelector"]["matchExpressions"][0]["values"], (
        "the API asks Kubernetes nothing"
    )


def test_rights_name_what_is_needed_and_no_star(tmp_path):
    base = objects(tmp_path, "base.yml.j2")
    for name in ("ClusterRole ava:operator", "ClusterRole ava:scheduler", "Role leader"):
        for rule in base[name]["rules"]:
            assert "*" not in rule["verbs"] + rule["resources"]
    bound = {r for rule in base["ClusterRole ava:scheduler"]["rules"] for r in rule["resources"]}
    given_on = {"namespaces", "rolebindings", "clusterroles"}
    assert bound == {"pods", "nodes", "pods/binding", "pods/status", "events"} | given_on
    anywhere = {
        (verb, resource)
        for rule in base["ClusterRole ava:operator"]["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }
    assert not {resource for _, resource in anywhere} & {"secrets", "rolebindings", "clusterrolebindings"}
    assert ("create", "pods") not in anywhere
    assert not {("update", "namespaces"), ("patch", "namespaces")} & anywhere
    for mount, wanted in (("", ["/usr/lib/ava"]), ("/mnt/cephfs", ["/usr/lib/ava", "/mnt/cephfs"])):
        base = objects(tmp_path, "base.yml.j2", ava_mount=mount)
        paths = [p["pathPrefix"] for p in base["PodSecurityPolicy ava-runs"]["spec"]["allowedHostPaths"]]
        assert paths == wanted


def test_no_pod_of_a_run_has_a_uid_or_gid_of_the_system(tmp_path):
    spec = objects(tmp_path, "base.yml.j2")["PodSecurityPolicy ava-runs"]["spec"]
    for what in ("runAsUser", "fsGroup", "supplementalGroups"):
        assert spec[what]["rule"] == "MustRunAs"
        assert [r["min"] for r in spec[what]["ranges"]] == [1000]


def test_users_come_by_tls_and_are_sent_there(tmp_path):
    parts = objects(tmp_path, "parts.yml.j2")
    kinds = {name: parts[f"Ingress {name}"] for name in ("api", "api-plain")}
    assert {one["spec"]["rules"][0]["host"] for one in kinds.values()} == {component.host(SITE)}
    points = {name: one["metadata"]["annotations"] for name, one in kinds.items()}
    key = "traefik.ingress.kubernetes.io/router."
    first = {f"{key}priority": "1000000"}
    assert points["api"] == first | {f"{key}entrypoints": "websecure", f"{key}tls": "true"}
    assert points["api-plain"][f"{key}priority"] == "1000000"
    middleware = points["api-plain"][f"{key}middlewares"].removesuffix("@file")
    report = yaml.safe_load(template("ingress/templates/certificates.yml.j2", **given("ingress")))
    assert report["http"]["middlewares"][middleware] == {
        "redirectScheme": {"scheme": "https", "permanent": True}
    }


def test_gpu_nodes_are_for_pods_that_ask_for_gpus():
    from avadm.components.nodes.variables import GPU_TAINT, taints

    [gpu] = SITE.with_role("gpu")
    assert GPU_TAINT in taints(gpu, SITE)
    without = site(ava=None)
    assert GPU_TAINT not in taints(without.with_role("gpu")[0], without)


def test_the_phase_comes_after_all_that_it_stands_on():
    [own] = [c for c in COMPONENTS if c.name == "ava"]
    assert {"addons", "registry", "database"} <= set(own.phase.needs)
    assert re.match(r"playbooks/ava\.yml", own.phase.playbook)


def settings(tmp_path, part, of=SITE, **more):
    return yaml.safe_load(
        objects(tmp_path, "base.yml.j2", of, **more)["ConfigMap ava"]["data"][f"{part}.yml"]
    )


def test_users_images_are_offered_by_a_tag_that_never_has_another_content(tmp_path):
    report = settings(tmp_path, "api")["images"]
    [(name, row)] = report.items()
    assert name == "ava-base"
    assert row["image"].endswith("/avadm/ava-base:1-ffffffffffff")


def test_a_site_adds_images_of_its_own(tmp_path):
    own = {"torch": {"image": "registry.example/torch@sha256:1", "title": "ours"}}
    assert set(settings(tmp_path, "api", ava_settings={"api": {"images": own}})["images"]) == {
        "ava-base",
        "torch",
    }


def test_without_a_server_of_code_nothing_is_opened_and_the_interface_says_so(tmp_path):
    assert settings(tmp_path, "api")["git"] is False
    operator = settings(tmp_path, "operator")
    assert operator["network"]["git"] == []
    assert "git_image" not in operator["pods"]


def test_the_way_to_servers_of_code_leaves_out_what_is_the_site_s(tmp_path):
    wide = {"networks": ["0.0.0.0/0"], "ports": [443], "ca": "AUTHORITY"}
    node_itself = {"networks": ["10.0.0.5/32"], "ports": [22], "host_keys": "d2 ssh-ed25519 AAAA"}
    of = site(ava={"git": [wide, node_itself]})
    operator = settings(tmp_path, "operator", of)
    first, second = operator["network"]["git"]
    assert first["cidr"] == "0.0.0.0/0"
    assert {f"10.0.0.{n}/32" for n in (1, 2, 3, 4, 5, 99)} <= set(first["but"])
    assert {"10.244.0.0/16", "10.96.0.0/16", "169.254.0.0/16"} <= set(first["but"])
    assert second == {"cidr": "10.0.0.5/32", "but": [], "ports": [22]}, "named by its one address"
    assert settings(tmp_path, "api", of)["git"] is True
    assert operator["pods"]["git_image"].endswith("/avadm/ava-base:1-ffffffffffff")
    data = objects(tmp_path, "base.yml.j2", of)["ConfigMap ava"]["data"]
    assert data["git-known-hosts"] == "d2 ssh-ed25519 AAAA\n"
    assert data["git-ca.crt"] == "AUTHORITY\n"


def test_services_are_reported_how_requests_come_and_who_asks_for_them(tmp_path):
    made = objects(tmp_path, "base.yml.j2")
    report = {
        name: yaml.safe_load(text)
        for name, text in made["ConfigMap ava"]["data"].items()
        if name.endswith(".yml")
    }
    services = report["operator.yml"]["services"]
    assert services["domain"] == report["api.yml"]["services_domain"] == f"services.{SITE.network.domain}"
    assert services["middlewares"] == {"group": "avadm-members@file", "public": "avadm-anybody@file"}
    assert len(services["ingresses"]) == 2 and all(
        url.endswith(":8082/metrics") for url in services["ingresses"]
    )
    assert report["operator.yml"]["network"]["scrapers"]
    egress = made["NetworkPolicy load"]["spec"]
    assert egress["podSelector"] == {"matchLabels": {"app": "ava", "part": "operator"}}
    assert egress["egress"][0]["ports"] == [{"protocol": "TCP", "port": 8082}]


@pytest.mark.parametrize("platform", [True, False])
def test_the_ingress_asks_before_it_lets_in_and_takes_away_what_the_caller_was_let_in_by(tmp_path, platform):
    callers = rendered(tmp_path).all["ingress_callers"] if platform else {}
    have = given("ingress") | {"ingress_callers": callers, "ingress_routes": []}
    dynamic = yaml.safe_load(template("ingress/templates/certificates.yml.j2", **have))["http"]
    if not platform:
        assert list(dynamic["middlewares"]) == ["avadm-https", "avadm-closed"]
        assert list(dynamic["routers"]) == ["metrics-closed"]
        return
    middlewares = dynamic["middlewares"]
    ask = middlewares["avadm-ask"]["forwardAuth"]
    assert ask["address"] == "http://127.0.0.1:8083/api/v1/services/caller"
    assert "trustForwardHeader" not in ask
    assert middlewares["avadm-members"]["chain"]["middlewares"] == ["avadm-ask", "avadm-bare"]
    assert middlewares["avadm-anybody"]["chain"]["middlewares"] == ["avadm-nobody", "avadm-bare"]
    bare = middlewares["avadm-bare"]["headers"]
    assert bare["customRequestHeaders"] == {"Authorization": "", "Cookie": ""}
    assert bare["customResponseHeaders"] == {"Set-Cookie": ""}
    assert dynamic["routers"]["callers"]["entryPoints"] == ["callers"]


def test_workbenches_have_names_of_their_own_at_the_ingress(tmp_path):
    out = rendered(tmp_path)
    assert out.all["ingress_routes"] == [
        {
            "name": "workbenches",
            "rule": "HostRegexp(`{bench:[a-z0-9]+}.wb.demo.test`)",
            "service": "ava-system_gate_80@kubernetes",
        }
    ]
    parts = objects(tmp_path, "parts.yml.j2")
    assert parts["Ingress gate"]["spec"]["rules"][0]["http"]["paths"][0]["backend"] == {
        "serviceName": "gate",
        "servicePort": 80,
    }


def test_without_addresses_for_it_there_is_no_ssh_gateway(tmp_path):
    parts = objects(tmp_path, "parts.yml.j2")
    assert "Deployment jump" not in parts
    assert "Service ssh" not in parts
    assert component.doors(SITE) == ["gate"]


def test_the_gate_reaches_workbenches_and_the_api_s_internal_port_alone(tmp_path):
    gate = objects(tmp_path, "base.yml.j2")["NetworkPolicy gate"]["spec"]
    assert [f["ipBlock"]["cidr"] for f in gate["ingress"][0]["from"]] == ["10.0.0.2/32", "10.0.0.3/32"]
    assert [(rule["to"], rule["ports"][0]["port"]) for rule in gate["egress"]] == [
        ([{"podSelector": {"matchLabels": {"app": "ava", "part": "api"}}}], 9090),
        ([{"namespaceSelector": {"matchLabels": {"ava.io/managed": "true"}}}], 8888),
    ]


def test_the_ssh_gateway_s_host_key_is_a_private_key_of_its_own(tmp_path):
    key = rendered(tmp_path).secrets[ava.JUMP_HOST_KEY]
    assert key().startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert key() != key()


def test_workbenches_are_stopped_and_have_disks_only_where_the_site_says_so(tmp_path):
    plain = settings(tmp_path, "api")["workbenches"]
    assert (plain["idle"], plain["disks"]) == (None, False)
    reply = site(ava={"workbenches": {"idle_hours": 12, "warn_hours": 1.5}})
    assert settings(tmp_path, "api", reply)["workbenches"]["idle"] == {"hours": 12, "warn_hours": 1.5}
    assert settings(tmp_path, "api", ava_disks=True)["workbenches"]["disks"] is True
    rules = objects(tmp_path, "base.yml.j2")["ClusterRole ava:operator-group"]["rules"]
    claims = [rule for rule in rules if "persistentvolumeclaims" in rule["resources"]]
    assert [rule["apiGroups"] for rule in claims] == [[""]]
    anywhere = objects(tmp_path, "base.yml.j2")["ClusterRole ava:operator"]["rules"]
    assert all(
        set(rule["verbs"]) == {"get", "list", "watch"}
        for rule in anywhere
        if "persistentvolumeclaims" in rule["resources"]
    )
    doors = {
        "ava_doors": ["gate", "jump"],
        "ava_jump_address": "10.0.0.9",
        "ava_jump_host_key": ava.host_key(),
    }
    jump = objects(tmp_path, "parts.yml.j2", **doors)
    pods = jump["Deployment jump"]["spec"]["template"]["spec"]
    assert [c["name"] for c in pods["containers"]] == ["jump", "sessions"]
    assert pods["containers"][1]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    # What looks up keys and what closes connections speak of one folder.
    start, config = pods["containers"][0]["command"][-1], jump["ConfigMap doors"]["data"]["sshd_config"]
    assert "/ava/gateway/ssh/connections.py http://told:" in start and " /usr/sbin/sshd -D " in start
    assert start.count("/dev/shm/connections") == config.count("/dev/shm/connections") == 1


def test_homes_and_data_sets_have_limits_where_the_site_says_so(tmp_path):
    plain = settings(tmp_path, "api")
    assert "data_set_quota" not in plain and "owner_quota" not in plain
    reply = site(ava={"space": {"home_gib": 100, "data_set_gib": 50, "owner_gib": 1000}})
    made = settings(tmp_path, "api", reply)
    assert (made["data_set_quota"], made["owner_quota"]) == (50 * 2**30, 1000 * 2**30)
    assert rendered(tmp_path, reply).all["ava_space"]["home"] == 100 * 2**30
    kept = value("{{ _ava_storage_config }}", **given("ava") | {"ava_space": {"home": 7}, "_ava_storage": {}})
    assert kept == {"home_quota": 7}


def test_workers_have_the_catalogue_s_images_before_anyone_asks(tmp_path):
    offered = site(ava={"images": ["ava-base"]})
    (kept,) = (o for k, o in objects(tmp_path, "parts.yml.j2", offered).items() if k == "DaemonSet images")
    pod = kept["spec"]["template"]["spec"]
    images = settings(tmp_path, "api", offered)["images"]
    for containers in (pod["initContainers"], pod["containers"]):
        assert [c["image"] for c in containers] == [images["ava-base"]["image"]]
        assert all(c["resources"]["limits"] for c in containers)
    # On GPU nodes too, whose taint keeps others away, and never on masters, which are no workers.
    assert pod["nodeSelector"] == {"node-role.kubernetes.io/worker": ""}
    assert {"operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["automountServiceAccountToken"] is False


def test_a_site_that_offers_no_image_keeps_none(tmp_path):
    assert "DaemonSet images" not in objects(tmp_path, "parts.yml.j2", site(ava={"images": []}))


def test_the_ssh_gateway_s_account_has_the_group_of_its_process(tmp_path):
    # kubelet starts containers as UID:fsGroup; sshd may not switch to another group for the program that looks keys up.
    key = ava.host_key()
    more = {"ava_doors": ["gate", "jump"], "ava_jump_address": "10.0.0.240", "ava_jump_host_key": key}
    made = objects(tmp_path, "parts.yml.j2", **more)
    pod = made["Deployment jump"]["spec"]["template"]["spec"]
    (account,) = [
        x for x in made["ConfigMap doors"]["data"]["passwd"].splitlines() if not x.startswith("root:")
    ]
    who = pod["securityContext"]
    assert account.split(":")[2:4] == [str(who["runAsUser"]), str(who["fsGroup"])]
