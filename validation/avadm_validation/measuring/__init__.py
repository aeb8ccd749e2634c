"""What all suites of acceptance share: the target, a check's view of a run, numbers from raw text, the runner."""
