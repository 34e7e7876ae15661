"""The fabric's controller: inventory, paths, policies, and the P4Runtime programming of every switch."""
