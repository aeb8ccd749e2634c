"""Variables of the roles of Kubernetes' nodes."""

from __future__ import annotations

from typing import Any

from avadm.components.monitoring.variables import PORTS
from avadm.inventory.model import RenderContext, Variables
from avadm.site import internet

RUNTIME: dict[str, dict[str, Any]] = {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the roles docker and gpu_*; nothing where the site has no masters."""
    site, profile = given.site, given.profile
    if not site.with_role("master"):
        return
    out.all |= {
        "docker_packages": profile.packages.get("docker", []),
        "docker_storage_driver": profile.features.get("docker_storage_driver", "overlay2"),
    }
    if site.packages.internet_proxy:
        out.all |= {
            "docker_proxy": site.packages.internet_proxy,
            "docker_no_proxy": internet.exceptions(site, profile),
        }
    nodes = site.with_role("gpu")
    if not nodes:
        return
    runtime = bool(profile.features.get("gpu_runtime", True))
    out.all["gpu_runtime_enabled"] = runtime
    for role in ("gpu_driver", "gpu_runtime", "gpu_exporter"):
        out.all[f"{role}_packages"] = list(profile.packages.get(role, []))
    out.all["gpu_driver_version"] = profile.versions.get("gpu_driver", "")
    out.all["gpu_exporter_kind"] = profile.features.get("gpu_exporter", "nvidia-smi")
    out.all["gpu_device_plugin_program"] = "{{ artifacts['gpu-device-plugin'].files['gpu-device-plugin'] }}"
    for node in nodes:
        out.host(node.name).update(
            {
                "gpu_driver_count": node.gpus.count if node.gpus else 0,
                "gpu_device_plugin_slots": node.gpus.slots if node.gpus else 1,
                "gpu_exporter_address": str(node.address),
                "gpu_exporter_port": PORTS["gpu"],
                # For people's own `docker run --runtime=nvidia`. It obeys NVIDIA_VISIBLE_DEVICES of any image, so it is never
                # the default, which is what pods get: their GPUs are the device plug-in's to give.
                "docker_runtimes": dict(RUNTIME) if runtime else {},
                "docker_default_runtime": "runc",
            }
        )
