"""Names of a report's figures and what is in them, and the files of each: known without what draws them."""

NAMES = (
    *("accuracy", "flow_times", "all_reduces", "time_split"),
    *("uplinks", "paths", "losses", "goodput", "queues"),
)
FORMATS = ("svg", "pdf", "csv")

PARTS_OF_TIME = {
    "computing_s": "computing",
    "beside_s": "computing beside communication",
    "communicating_s": "communication",
    "waiting_s": "waiting for a later rank",
}
"""Of a rank's (record.model.RankTime), in words."""
