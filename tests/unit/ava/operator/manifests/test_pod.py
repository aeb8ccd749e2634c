"""Pods: what a tenant writes is data, limits follow the pool, and a stop reaches what the command started (K9)."""

import json
import os
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ava.domain import labels
from ava.domain.model import Group, Kind, Phase, Pool, Quota, Run, User, UserState
from ava.domain.resources import Resources
from ava.domain.spec import Amount, Spec
from ava.operator.manifests import hostfile, pod_parts, run_files
from ava.operator.manifests.group_namespace import peers_service
from ava.operator.manifests.pod import PodContext, PodDefaults, pod, resources
from ava.services.runs.rules.code import variables

NOW = datetime(2026, 11, 24, tzinfo=UTC)
USER = User("u1", "ann", "ann@example.org", 10001, False, UserState.ACTIVE, "vision", NOW)
GROUP = Group("g1", "vision", 20001, Quota(), Resources(), NOW)


def place(spec=None, name="train", role=0, index=0, **changes):
    reply = Spec.model_validate({"image": "i", "command": ["sh"]} | (spec or {}))
    run = Run(
        "r1ilq5e2sha1e", "d1", Kind.TRAINING, name, "ann", "vision", "default", 50, "default", "k", {}, reply.asks(),
        Phase.ADMITTED, NOW,
    )  # fmt: skip
    members = hostfile.members(reply, run.id, 0, labels.namespace("vision"))
    return replace(PodContext(run, reply, reply.roles[role], index, USER, GROUP, members, None), **changes)


def main(thing):
    return thing["spec"]["containers"][0]


@pytest.mark.parametrize("text", ["$(HOME)", "$$", "$$(A)", "echo $! $(date) ${X}", "plain"])
def test_a_word_arrives_as_it_was_written(text):
    """Kubernetes reads `$$` as `$`, and `$(NAME)` as a variable's value."""
    assert re.sub(r"\$\$", "$", pod_parts.escape(text)) == text
    assert not re.search(r"(?<!\$)(\$\$)*\$\(", pod_parts.escape(text))


@pytest.mark.parametrize(
    "name", ["NVIDIA_VISIBLE_DEVICES", "TF_CONFIG", "AVA_RUN", "KUBERNETES_PORT", "OMPI_MCA_plm_rsh_agent"]
)
def test_the_platforms_variables_are_not_the_users(name):
    where = place({"env": {name: "evil", "MINE": "$(HOME) $$"}})
    container = main(pod(where, PodDefaults()))
    assert {e["name"]: e["value"] for e in container["env"]}.get(name) != "evil"
    # What comes by envFrom is not expanded, and env comes before it.
    secret = run_files.env_secret(where.run, where.spec)
    assert secret["stringData"] == {"MINE": "$(HOME) $$"}
    assert container["envFrom"] == [{"secretRef": {"name": secret["metadata"]["name"]}}]


def test_variables_are_kept_once_for_a_run_and_not_in_each_pod():
    large = {f"V{i}": "x" * 4096 for i in range(15)}
    made = pod(place({"env": large}), PodDefaults())
    assert len(json.dumps(made)) < 8 * 1024
    assert "envFrom" not in main(pod(place({}), PodDefaults()))
    assert run_files.env_secret(place({}).run, place({}).spec) is None


def test_home_and_user_are_the_users_where_they_set_them():
    def env(**variables):
        return {e["name"]: e["value"] for e in main(pod(place({"env": variables}), PodDefaults()))["env"]}

    assert (env()["HOME"], env()["USER"]) == ("/home/ann", "ann")
    assert (env(HOME="/data/x", USER="me")["HOME"], env(HOME="/data/x", USER="me")["USER"]) == (
        "/data/x",
        "me",
    )


@pytest.mark.parametrize("distributed", ["none", "tensorflow", "mpi"])
def test_a_variable_is_refused_or_reaches_the_pod(distributed):
    """None is accepted and then dropped or replaced without a word."""
    roles = {"mpi": [{"name": "launcher"}, {"name": "worker"}]}.get(distributed, [{"name": "worker"}])
    base = {"distributed": distributed, "roles": roles}
    platform = {
        e["name"]
        for role in range(len(roles))
        for e in main(pod(place(base, role=role), PodDefaults()))["env"]
    }
    names = platform | {
        "OMPI_MCA_plm_rsh_agent",
        "KUBERNETES_PORT",
        "TF_CONFIG",
        "NVIDIA_DRIVER_CAPABILITIES",
    }
    for name in names | {"OMPI_MCA_btl", "PATH", "CUDA_VISIBLE_DEVICES"}:
        thing = place(base | {"env": {name: "mine"}}, role=len(roles) - 1)
        values = [e["value"] for e in main(pod(thing, PodDefaults()))["env"] if e["name"] == name]
        kept = run_files.env_secret(thing.run, thing.spec)
        values = values or [kept["stringData"][name]] if kept else values
        assert variables(thing.spec, "spec") or values == ["mine"], name


def test_the_launcher_waits_for_its_workers_without_an_error(tmp_path):
    """The pods' own script, beside an ssh that finds a worker's name only at the third time."""
    script = (
        pod_parts.wait_for_peers("i")["command"][2].replace("$$", "$").replace(hostfile.FOLDER, str(tmp_path))
    )
    (tmp_path / "hostfile").write_text("w0.run slots=1\nw1.run slots=1\n")
    (tmp_path / "ssh").write_text(
        "#!/bin/sh\n"
        f'echo "$3" >> {tmp_path}/asked\n'
        f'[ "$(wc -l < {tmp_path}/asked)" -gt 2 ] || {{ echo "Could not resolve hostname $3" >&2; exit 255; }}\n'
    )
    (tmp_path / "sleep").write_text("#!/bin/sh\n")
    for name in ("ssh", "sleep"):
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env=env)
    assert (ran.stdout, ran.stderr) == ("Waiting for w0.run to answer by ssh.\n", "")
    late = script.replace(f"+ {pod_parts.PEERS_WAIT}", "+ 0").replace("-gt 2", "-gt 9")
    (tmp_path / "asked").unlink()
    ran = subprocess.run(["/bin/sh", "-c", late], capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 1
    assert ran.stderr == "w0.run did not answer by ssh within 600 s: Could not resolve hostname w0.run\n"


def test_no_pod_runs_as_a_system_account():
    for change in ({"owner": replace(USER, uid=0)}, {"group": replace(GROUP, gid=27)}):
        with pytest.raises(ValueError, match="1000"):
            pod(place(**change), PodDefaults())


def test_names_stay_within_what_kubernetes_takes():
    wide = {"roles": [{"name": "a" * 20, "replicas": 512}], "distributed": "tensorflow"}
    there = place(wide, name="n" * 200, index=511)
    made = pod(there, PodDefaults())
    messages = [
        made["metadata"]["name"],
        made["spec"]["hostname"],
        made["spec"]["subdomain"],
        made["metadata"]["namespace"],
    ]
    messages += list(made["metadata"]["labels"].values())
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", value) for value in messages)
    assert peers_service(there.run)["metadata"]["name"] == made["spec"]["subdomain"]
    assert all(len(member.host) < 253 for member in there.members)


@pytest.mark.parametrize(
    "wanted, ratio, limit",
    [(None, 2.0, 1000), (1500, 2.0, 1500), (9000, 2.0, 2000), (9000, 1.0, 1000), (500, 2.0, 1000)],
)
def test_a_limit_is_between_the_request_and_the_pools_ratio(wanted, ratio, limit):
    reply = resources(Amount(cpu=1000, cpu_limit=wanted), Pool("", "p", False, {}, cpu_ratio=ratio))
    assert (reply["requests"]["cpu"], reply["limits"]["cpu"]) == ("1000m", f"{limit}m")


def test_shared_memory_is_as_much_as_the_pod_asked_for():
    made = pod(place({"roles": [{"each": {"memory": 2**31}}]}), PodDefaults())
    shm = next(v for v in made["spec"]["volumes"] if v["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": str(2**31)}


def test_the_init_process_gets_the_groups_that_it_may_run_with():
    made = pod(place({"command": ["train", "$HOME"]}), PodDefaults())
    groups = made["spec"]["securityContext"]["supplementalGroups"]
    text = ",".join(map(str, groups))
    assert main(made)["command"] == ["/.ava-init", "-G", text, "-s", "-g", "--", "train", "$$HOME"]
    assert made["spec"]["securityContext"]["fsGroup"] in groups


def test_the_code_is_cloned_at_exactly_one_commit(tmp_path):
    """The script runs as it is, on a repository of this machine (the protocol's bounds are lifted for that)."""
    origin, code, home = tmp_path / "origin", tmp_path / "code", tmp_path / "home"
    for folder in (origin, code, home):
        folder.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*argv):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", *who, *argv], cwd=origin, env=env, check=True, capture_output=True, text=True
        )

    git("init", "-q")
    commits = []
    for n in range(2):
        (origin / "f").write_text(str(n))
        git("add", "f")
        git("commit", "-qm", str(n))
        commits.append(git("rev-parse", "HEAD").stdout.strip())
    spec = {"git": {"url": "https://git.example.org/x.git", "commit": commits[0][:10]}}
    clone = pod(place(spec), PodDefaults(git_image="git:1"))["spec"]["initContainers"][0]
    script = clone["command"][2].replace("$$", "$").replace(pod_parts.CODE, str(code))
    report = (
        {e["name"]: e["value"] for e in clone["env"]}
        | env
        | {"GIT_URL": str(origin), "GIT_ALLOW_PROTOCOL": "file"}
    )
    subprocess.run(["/bin/sh", "-c", script], env=report, check=True)
    assert (code / "f").read_text() == "0"
    wrong = report | {"GIT_COMMIT": "0" * 40}
    assert (
        subprocess.run(["/bin/sh", "-c", script], env=wrong, check=False, capture_output=True).returncode != 0
    )
    assert Path(code / "f").read_text() == "0"
