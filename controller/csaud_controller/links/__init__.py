"""Whether links live: probes, trials of switches without a session, and what follows. No I/O, no clock."""
