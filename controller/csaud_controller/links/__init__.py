"""Whether links live: probes, and what follows from those that come in or do not. No I/O, no clock."""
