"""Running fabrics: their directories, who keeps them alive, and which one is meant."""
