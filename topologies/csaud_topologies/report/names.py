"""Names of a report's figures, and the files of each: known without what draws them."""

NAMES = ("accuracy", "flow_times", "all_reduces", "uplinks", "paths", "losses", "goodput", "queues")
FORMATS = ("svg", "pdf", "csv")
