"""Pure rules of the platform: no input or output, no clock, no random."""
