"""What the ledger wants becomes pods; what pods do becomes known to the ledger."""
