"""Known holes of what avadm installs: the register, and what a running site must show of it."""
