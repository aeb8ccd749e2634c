"""MPI's settings in a pod: hosts, and ssh between the pods of a run."""

from __future__ import annotations

HOSTS = "/etc/ava/run"
"""Folder of the files that name the pods of a run."""
SSH = "/etc/ava/ssh"
"""Folder of the ssh settings and keys by which the pods of a run reach each other."""
ENVIRONMENT = {
    "OMPI_MCA_orte_default_hostfile": f"{HOSTS}/hostfile",
    "OMPI_MCA_plm_rsh_args": f"-F {SSH}/ssh_config",
    # Each process is started by a direct connection: a tree would need every pod to reach every other's sshd at start.
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
    # Without its domain no one finds a pod: its names are those of the run's service.
    "OMPI_MCA_orte_keep_fqdn_hostnames": "1",
    "HYDRA_HOST_FILE": f"{HOSTS}/hostfile",
    "HYDRA_LAUNCHER_EXTRA_ARGS": f"-F {SSH}/ssh_config",
}
