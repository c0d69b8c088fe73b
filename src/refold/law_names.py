"""The names of the laws, in the order of the design's table; what they say is in `refold.laws`."""

LAW_NAMES = (
    "pure",
    "replay",
    "resume",
    "idempotent",
    "commit = derive",
    "append-only",
    "local",
    "frozen",
    "once",
    "shrink",
    "exact views",
    "paired",
    "kept",
    "prefix",
    "sums",
    "order",
    "text",
)
