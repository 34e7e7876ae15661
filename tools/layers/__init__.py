"""Which folder of native code may include which: layers.toml says it, `python -m tools.layers` checks it."""
