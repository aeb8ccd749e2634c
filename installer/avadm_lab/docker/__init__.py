"""Driver `docker`: each node is a container with systemd, sshd and real block devices."""
