"""What knows nothing of fabrics: signals that end a run, namespaces."""
