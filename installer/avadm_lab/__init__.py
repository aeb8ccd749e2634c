"""The lab: several nodes on one Linux machine, and the only place that knows it is a lab. A distribution of its own, avadm-lab.

Modules: ``lab`` (up, down, list), ``layout`` (who runs what, where), ``folder`` (the lab's own
files), ``driver`` (what a driver must do), ``docker/`` (nodes as containers), ``cacher`` (one apt cache),
``prereqs`` (packages of this machine), ``proc`` (the only way commands are run).
"""
