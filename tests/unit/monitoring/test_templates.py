"""What the roles write is what Prometheus' own tools accept, for sites of every shape."""

import json
import re

import pytest
import yaml

from avadm.components.monitoring import variables as monitoring_variables
from avadm.site import profile as profiles
from avadm.site.model import Site
from tests.unit.fakes import sites
from tests.unit.fakes.roles import ROLES, holds, tasks, template, value, variables

M1, M2 = "10.0.0.1", "10.0.0.2"
NODES = [
    {"name": "m1", "address": M1, "roles": ["mon", "mgr", "prometheus", "alertmanager"]},
    {"name": "m2", "address": M2, "roles": ["prometheus", "alertmanager", "grafana"]},
]
SMALL = [{"name": "m1", "address": M1, "roles": ["prometheus"]}]


def site_vars(role, *, host="m1", nodes=NODES, profile="lab-bookworm", overrides=None, **monitoring):
    """Return the variables of a role on a host as Ansible would have them: defaults, vars/, the site's."""
    site = Site.model_validate(
        {
            "name": "demo",
            "network": {"management": "10.0.0.0/24", "domain": "demo.test"},
            "nodes": nodes,
            "components": {"monitoring": monitoring},
        }
    )
    out = sites.render(site, monitoring_variables, profile=profile)
    return {
        "inventory_hostname": host,
        "_prometheus_disk": {"stdout_lines": ["1M-blocks", "     1000"]},
        **variables(role),
        **out.all,
        **out.hosts[host],
        **{name: make() for name, make in out.secrets.items()},
        **(overrides or {}),
    }


def written(role, name, /, have=None, **more):
    """Return what a template of a role is made to, with these variables or those of a site."""
    return template(f"{role}/templates/{name}.j2", **(have or site_vars(role, **more)))


def prometheus_config(tmp_path, extra=(), **more):
    """Write everything that the prometheus role writes to a folder; return the path of prometheus.yml."""
    extra = {"prometheus_config_dir": str(tmp_path), **dict(extra)}
    have = site_vars("prometheus", overrides=extra, **more)
    (tmp_path / "targets").mkdir()
    for job, groups in have["prometheus_targets"].items():
        (tmp_path / "targets" / f"{job}.json").write_text(json.dumps(groups))
    (tmp_path / "rules").symlink_to(ROLES / "prometheus/files/rules")
    path = tmp_path / "prometheus.yml"
    path.write_text(written("prometheus", "prometheus.yml", have))
    return path


def read(tmp_path, **more):
    return yaml.safe_load(prometheus_config(tmp_path, **more).read_text())


JOB = {"job_name": "x", "static_configs": [{"targets": ["a:1"]}]}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"nodes": SMALL},
        {"profile": "stated"},
        {"scrape_interval_s": 1},
        {"extra": {"prometheus_extra_scrape_configs": [JOB]}},
        {"extra": {"prometheus_external_labels": {"site": 'we"ird', "number": 3}}},
    ],
    ids=["usual", "one node", "stated", "every second", "extra job", "odd labels"],
)
def test_promtool_accepts_the_configuration(tool, tmp_path, more):
    tool("promtool", "check", "config", prometheus_config(tmp_path, **more))


def test_a_job_is_asked_as_it_says_and_over_tls_where_it_shows_a_certificate(tool, tmp_path):
    extra = {
        "prometheus_targets": {name: [] for name in ("plain", "tls", "usual")},
        "prometheus_jobs": {
            "plain": {"client": "", "path": "/metrics", "interval_s": 60},
            "tls": {"client": "kubernetes", "path": "/metrics/x", "interval_s": 0},
        },
    }
    (tmp_path / "tls").mkdir()
    for end in ("ca", "crt", "key"):
        (tmp_path / f"tls/kubernetes.{end}").touch()
    path = prometheus_config(tmp_path, extra=extra)
    tool("promtool", "check", "config", "--syntax-only", path)
    jobs = {j["job_name"]: j for j in yaml.safe_load(path.read_text())["scrape_configs"]}
    assert jobs["plain"]["scrape_interval"] == "60s"
    assert not {"tls_config", "scheme"} & set(jobs["plain"])
    assert (jobs["tls"]["scheme"], jobs["tls"]["metrics_path"]) == ("https", "/metrics/x")
    assert "scrape_interval" not in jobs["tls"]
    assert set(jobs["usual"]) == {"job_name", "file_sd_configs"}


def test_each_rule_file_is_named_so_that_a_stale_one_is_not_read(tmp_path, full):
    """By the role, or by a component on a site that has it; and each name is one of a file."""
    own = "/etc/prometheus/site/*.yml"
    extra = {
        "prometheus_extra_rule_globs": [own],
        "prometheus_more_rules": full.all["prometheus_more_rules"],
    }
    files = read(tmp_path, extra=extra)["rule_files"]
    ours = [f"{tmp_path}/rules/{path.name}" for path in (ROLES / "prometheus/files/rules").glob("*.yml")]
    assert sorted(files) == sorted([*ours, own])


def test_rules_about_what_a_site_has_not_are_left_out(tmp_path, full):
    files = read(tmp_path)["rule_files"]
    names = {f.rsplit("/", 1)[-1].removesuffix(".yml") for f in files}
    assert full.all["prometheus_more_rules"]
    assert names & set(full.all["prometheus_more_rules"]) == set()


def test_the_hand_over_names_each_rule_file_that_it_holds():
    more = {"existing": ["http://prom.test:9090"], "overrides": {"prometheus_more_rules": ["cache"]}}
    have = site_vars("prometheus", **more)
    note = written("prometheus", "HANDOVER.md", have)
    named = re.findall(r"- (/etc/prometheus/avadm/rules/.*)", note)
    names = have["_prometheus_handover_rules"]
    assert named == [f"/etc/prometheus/avadm/rules/{name}.yml" for name in [*names, "cache"]]
    assert set(names) == set(have["_prometheus_rules"]) - {"monitoring", "kubernetes"}


def test_replicas_differ_in_one_line(tmp_path):
    texts = []
    for host in ("m1", "m2"):
        folder = tmp_path / host
        folder.mkdir()
        texts.append(prometheus_config(folder, host=host).read_text().replace(str(folder), "").splitlines())
    first, second = texts
    different = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    assert different == [('    replica: "m1"', '    replica: "m2"')]


def test_the_replica_label_is_dropped_from_alerts_and_every_alertmanager_is_named(tmp_path):
    alerting = read(tmp_path)["alerting"]
    assert {"regex": "replica", "action": "labeldrop"} in alerting["alert_relabel_configs"]
    assert alerting["alertmanagers"] == [
        {"api_version": "v2", "static_configs": [{"targets": ["10.0.0.1:9093", "10.0.0.2:9093"]}]}
    ]


def test_alertmanager_is_shown_a_certificate_by_prometheus_and_its_prober(tmp_path):
    extra = {
        "prometheus_alertmanagers_client": "alertmanager",
        "prometheus_jobs": {"alertmanager": {"client": "alertmanager", "path": "/metrics", "interval_s": 0}},
    }
    config = read(tmp_path, extra=extra)
    (routers,) = config["alerting"]["alertmanagers"]
    (job,) = [job for job in config["scrape_configs"] if job["job_name"] == "alertmanager"]
    path = f"{tmp_path}/tls/alertmanager"
    shown = {"ca_file": f"{path}.ca", "cert_file": f"{path}.crt", "key_file": f"{path}.key"}
    assert (routers["scheme"], routers["tls_config"]) == ("https", shown)
    assert (job["scheme"], job["tls_config"]) == ("https", shown)
    more = {"blackbox_exporter_alertmanager_tls": path}
    probes = yaml.safe_load(written("blackbox_exporter", "blackbox.yml", overrides=more))
    assert probes["modules"]["alertmanager"]["http"]["tls_config"] == shown


TEAM = {"receiver": "team", "matchers": ['team="x"']}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"webhook_url": 'http://hook.test/?token=a"b'},
        {
            "overrides": {
                "alertmanager_extra_receivers": [{"name": "team"}],
                "alertmanager_extra_routes": [TEAM],
            }
        },
    ],
    ids=["no receiver", "webhook", "extra"],
)
def test_amtool_accepts_the_configuration(tool, tmp_path, more):
    path = tmp_path / "alertmanager.yml"
    path.write_text(written("alertmanager", "alertmanager.yml", **more))
    tool("amtool", "check-config", path)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["alertname=Watchdog", "severity=none"], "none"),
        (["alertname=HostDown", "severity=critical"], "webhook"),
        (["alertname=X", "severity=info"], "webhook"),
        (["alertname=X"], "webhook"),
    ],
)
def test_alerts_are_routed_by_severity(tool, tmp_path, labels, receiver):
    path = tmp_path / "alertmanager.yml"
    path.write_text(written("alertmanager", "alertmanager.yml", webhook_url="http://hook.test/"))
    wanted = [f"--config.file={path}", f"--verify.receivers={receiver}"]
    tool("amtool", "config", "routes", "test", *wanted, *labels)


@pytest.mark.parametrize(("disk_gib", "wanted"), [(None, "500MB"), (3, "3072MB")])
def test_samples_have_a_share_of_the_disk(disk_gib, wanted):
    text = written("prometheus", "default", **({"disk_gib": disk_gib} if disk_gib else {}))
    assert f"--storage.tsdb.retention.size={wanted} " in text


@pytest.mark.parametrize("dry", [True, False])
def test_a_dry_run_of_a_first_installation_does_without_the_folder_of_samples(dry):
    looked = {"_prometheus_disk": {"rc": 1, "stdout_lines": []}, "ansible_check_mode": dry}
    have = site_vars("prometheus") | looked
    (task,) = tasks("prometheus", "main", "'register'")
    assert holds(task["failed_when"], **have) is not dry
    assert "--storage.tsdb.retention.size=0MB " in written("prometheus", "default", have)


@pytest.mark.parametrize("role", ["prometheus", "alertmanager", "node_exporter", "blackbox_exporter"])
def test_arguments_are_one_line_and_quoted_once(role):
    text = written(role, "default")
    (line,) = [line for line in text.splitlines() if not line.startswith("#")]
    assert re.fullmatch(r'ARGS="[^"]+"', line)
    assert "{" not in line


# The release that first knew each flag (the programs' change logs).
SINCE = {
    "prometheus": {
        "--config.file": (2, 0),
        "--storage.tsdb.path": (2, 0),
        "--storage.tsdb.retention.size": (2, 7),
        "--storage.tsdb.retention.time": (2, 7),
        "--web.external-url": (2, 0),
        "--web.listen-address": (2, 0),
    },
    "alertmanager": {
        "--cluster.advertise-address": (0, 15),
        "--cluster.listen-address": (0, 15),
        "--cluster.peer": (0, 15),
        "--cluster.tls-config": (0, 24),
        "--web.config.file": (0, 22),
        "--config.file": (0, 14),
        "--storage.path": (0, 14),
        "--web.external-url": (0, 14),
        "--web.listen-address": (0, 14),
    },
    "node_exporter": {
        "--collector.disable-defaults": (1, 0),
        "--collector.diskstats.device-exclude": (1, 4),
        "--collector.diskstats.ignored-devices": (0, 15),
        "--collector.filesystem.fs-types-exclude": (1, 2),
        "--collector.filesystem.ignored-fs-types": (0, 15),
        "--collector.filesystem.ignored-mount-points": (0, 15),
        "--collector.filesystem.mount-points-exclude": (1, 2),
        "--collector.netdev.device-exclude": (1, 1),
        "--collector.nvme": (1, 2),
        "--collector.os": (1, 3),
        "--collector.pressure": (0, 18),
        "--collector.textfile.directory": (0, 15),
        "--collector.vmstat.fields": (0, 16),
        "--web.listen-address": (0, 15),
    },
    "blackbox_exporter": {"--config.file": (0, 9), "--web.listen-address": (0, 9)},
}
OLD_COLLECTOR = (0, 15)
"""What every collector that SINCE does not name has been there for."""


@pytest.mark.parametrize("profile", profiles.names())
@pytest.mark.parametrize("role", SINCE)
def test_every_flag_is_known_to_a_release_that_the_profile_allows(role, profile):
    pinned = profiles.load(profile).versions[role]
    allowed = tuple(int(part) for part in pinned.rstrip(".").split("."))
    # A prefix that ends in a dot names whole numbers; "0.1" also stands for 0.18.
    assert pinned.endswith("."), pinned
    guarded = profiles.load(profile).features.get("alertmanager_tls")
    more = {"alertmanager_tls": {"key": "k"}} if guarded else {}
    text = written(role, "default", profile=profile, overrides=more)
    for flag in re.findall(r"(?<= |\")(--[a-z.-]+)", text.split("ARGS=")[1]):
        known = re.fullmatch(r"--collector\.[a-z]+", flag) and OLD_COLLECTOR
        since = SINCE[role].get(flag) or known
        assert since, f"{flag}: since which release?"
        assert since[: len(allowed)] <= allowed, f"{flag} is not known before {since}"


def test_the_exporter_reads_no_other_root():
    assert "--path.rootfs" not in written("node_exporter", "default").split("ARGS")[1]


@pytest.mark.parametrize(
    ("clock", "steered"),
    [
        ({}, 1),
        ({"chrony_adjust_clock": True, "chrony_serve": False}, 1),
        ({"chrony_adjust_clock": False}, 0),
        ({"chrony_serve": True}, 0),
    ],
    ids=["by default", "from a server", "another's clock", "the site's own time"],
)
def test_a_node_says_whether_its_clock_follows_a_server(clock, steered):
    text = written("node_exporter", "avadm.prom", overrides=clock)
    assert text.splitlines()[-1] == f"avadm_clock_steered {steered}"


def test_grafana_asks_each_replica_and_keeps_the_password_apart():
    have = site_vars("grafana", host="m2")
    password = value("{{ grafana_admin_password }}", **have)
    assert password == have["vault_grafana_admin_password"]
    sources = yaml.safe_load(written("grafana", "datasources.yml", have))["datasources"]
    assert [(s["url"], s["isDefault"]) for s in sources] == [
        (f"https://{M1}:9090", True),
        (f"https://{M2}:9090", False),
    ]
    ini = written("grafana", "grafana.ini", have)
    assert password not in ini
    assert "$__file{/etc/grafana/admin_password}" in ini


def pods_job(profile):
    """Return the job that scrapes what tenants' pods answer."""
    have = site_vars("prometheus", profile=profile, overrides={"prometheus_pod_targets": "/pods.json"})
    jobs = yaml.safe_load(template("prometheus/templates/scrape_configs.yml.j2", **have))
    return next(job for job in jobs["scrape_configs"] if job["job_name"] == "pods")


def test_what_tenants_pods_answer_is_bounded_and_redirects_nothing():
    for profile in ("lab-bookworm", "stated"):
        job = pods_job(profile)
        assert job["follow_redirects"] is False
        assert job["body_size_limit"] == "16MB"
        assert job["label_limit"] and job["label_name_length_limit"] and job["label_value_length_limit"]
    # 2.24 would not start with them.
    assert not {"follow_redirects", "body_size_limit"} & set(pods_job("lab-bullseye"))


def test_a_machine_of_the_specification_keeps_half_its_memory_from_prometheus():
    stated, lab = (
        value("{{ _prometheus_unit }}", **site_vars("prometheus", profile=profile))
        for profile in ("stated", "lab-bookworm")
    )
    assert "MemoryLimit=32G" in stated
    assert "MemoryLimit" not in lab
