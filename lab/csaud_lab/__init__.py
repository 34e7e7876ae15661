"""From unpacked servers and switches to the first all-reduce: `csaud lab` (docs/lab.md)."""
