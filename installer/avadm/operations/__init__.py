"""Day two: nodes, disks, upgrades, power, maintenance, PostgreSQL's backups."""
