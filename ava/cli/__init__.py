"""The command line `ava`."""
