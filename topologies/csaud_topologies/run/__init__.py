"""One run from the start of its namespaces to its report."""
