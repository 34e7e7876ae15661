"""What the exit statuses of all commands mean. docs/commands.md has the same table."""

STATUSES = {
    0: "done, and what was asked for holds",
    1: "it failed, or does not hold (yet): a check, a switch, a rank; one line on stderr says what",
    2: "mistaken use: an option, an argument, a value or a file that cannot be; nothing was changed",
    124: "a time limit ended it (csaud net job --time-limit)",
    130: "ended by Ctrl-C",
}

OTHERS = "csaud net job, net exec and recover end with the status of what they run."


def in_words() -> str:
    """For --help."""
    said = "; ".join(f"{status}: {meaning}" for status, meaning in STATUSES.items())
    return f"Exit status {said}. {OTHERS}"
