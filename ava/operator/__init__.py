"""The operator: what the ledger decided becomes pods, and what pods do is told to the ledger."""
