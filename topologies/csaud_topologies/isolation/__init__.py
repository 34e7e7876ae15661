"""A run apart from the machine: its namespaces, its directory, who supervises it, and the way in."""
