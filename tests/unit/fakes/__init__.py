"""Stand-ins that tests of several areas share: running programs and modules, what roles say, archives, certificates."""
