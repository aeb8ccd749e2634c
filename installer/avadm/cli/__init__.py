"""The verbs of the command line: one module each, click and printing only."""
