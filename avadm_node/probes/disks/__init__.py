"""What lies on disks: whether one is blank, whose it is, and erasing one."""
