"""The engine: runs phases, keeps state and run folders, sums up."""
