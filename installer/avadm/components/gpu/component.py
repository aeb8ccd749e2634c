"""GPU drivers, the runtime that gives them to containers, their metrics."""

from __future__ import annotations

from avadm.components.model import Component, Packages, Phase, Port, Probe, Program

EXPORTER = 9400

COMPONENT = Component(
    # Before `nodes`: the device plug-in there mounts the driver, and offers GPUs that the driver has.
    phase=Phase(
        "gpu",
        "GPU drivers, runtime, metrics",
        "playbooks/gpu.yml",
        ("docker",),
        ("gpu",),
        ("gpu_driver", "gpu_runtime", "gpu_exporter"),
        artifacts=("avadm-node-gpu-exporter",),
        apart=True,
    ),
    packages={"gpu": Packages(late=("gpu_driver", "gpu_runtime", "gpu_exporter"))},
    ports=(
        Port(
            number=EXPORTER,
            program="dcgm-exporter",
            what="metrics of each GPU",
            duty="gpu",
            peers=("prometheus",),
            who="all",
        ),
    ),
    programs=(
        Program(
            "gpu_driver", ("gpu",), ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
        ),
    ),
    questions=(Probe("gpu", ("gpu",)),),
)
