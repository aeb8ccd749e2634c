"""A mirror keeps no more of objects than its readers look at: memory does not grow with what tenants wrote."""

import copy
import tracemalloc

from ava.kube.informer import Informer
from ava.kube.resources import PODS
from ava.kube.trim import trim
from ava.operator.secret_cache import SecretCache

TEXT = "x" * 65536


def pod(number=0):
    container = {
        "name": "main",
        "image": "i",
        "env": [{"name": "A", "value": TEXT + str(number)}],
        "command": ["/init", TEXT],
        "args": [TEXT],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
        "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "16777216"}},
        "ports": [{"containerPort": 80, "hostPort": 80}],
    }
    meta = {
        "name": f"p{number}", "namespace": "x", "uid": f"u{number}", "resourceVersion": str(number + 1),
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": TEXT, "kept": "yes"},
        "managedFields": [{"f": TEXT}], "labels": {"a": "b"},
    }  # fmt: skip
    spec = {"containers": [container], "initContainers": [dict(container)], "nodeName": "n"}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def test_what_readers_look_at_stays_and_the_object_itself_is_not_changed():
    thing = pod()
    before = copy.deepcopy(thing)
    found = trim(thing)
    assert thing == before
    kept = {"name", "image", "resources", "ports"}
    assert set(found["spec"]["containers"][0]) == set(found["spec"]["initContainers"][0]) == kept
    assert found["metadata"]["annotations"] == {"kept": "yes"} and found["metadata"]["labels"] == {"a": "b"}
    assert found["status"] == thing["status"] and found["spec"]["nodeName"] == "n"
    assert trim({"metadata": {"name": "c"}, "data": {"a": TEXT}}) == {"metadata": {"name": "c"}}
    assert trim({"metadata": {}, "spec": {"ports": [80]}})["spec"] == {"ports": [80]}


def test_a_thousand_large_pods_and_secrets_take_little_memory():
    mirror, secrets = Informer(None, PODS), SecretCache(None, PODS, labels="")
    mirror._seen = "0"
    tracemalloc.start()
    for number in range(1000):
        mirror._set(pod(number))
        meta = {"name": f"s{number}", "namespace": "x", "uid": "u", "resourceVersion": "1"}
        secrets.put({"metadata": meta, "data": {"A": TEXT + str(number)}})
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(mirror.objects) == len(secrets.objects) == 1000
    assert kept < 8 * 2**20, f"{kept / 2**20:.0f} MiB"
