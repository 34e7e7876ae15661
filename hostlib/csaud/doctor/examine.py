"""The whole diagnosis.

Each check looks at one thing and returns findings; the last of each kind of device is a trial of it. Nothing
is changed on the machine.
"""

from csaud.config.settings import Settings
from csaud.doctor import soft, verbs
from csaud.doctor.finding import Finding


def examine(settings: Settings) -> list[Finding]:
    """All findings, those of the soft device first."""
    return [*soft.look(settings), *verbs.look(settings)]


def works(findings: list[Finding]) -> bool:
    """Whether at least one device carried a job."""
    return any(finding.what == "trial" and finding.level == "ok" for finding in findings)
