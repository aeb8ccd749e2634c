"""The engine: runs phases, keeps ledger and run folders, sums up."""
