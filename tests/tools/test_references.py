"""What `make lint` says of links and of sections that are named."""

from pathlib import Path

import pytest

from tools.references import stale

PROTOCOL = """# Protocol

## On the `wire`

**What a schedule tells** of a message.

```
# not a heading
```
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "protocol.md").write_text(PROTOCOL)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('// (docs/protocol.md, "On the wire")', None),
        ('// (docs/protocol.md, "What a\n    // schedule tells")', None),
        ('# docs/protocol.md, "not a heading"', 'no section "not a heading"'),
        ('\n# docs/protocol.md, "Packets"', '2: docs/protocol.md has no section "Packets"'),
        ("# see docs/protocols.md", "there is no docs/protocols.md"),
    ],
)
def test_a_section_that_is_named_is_there(root: Path, text: str, fault: str | None) -> None:
    found = list(stale(root / "code.py", text, root))
    assert (fault in found[0]) if fault else not found


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("[x](protocol.md#on-the-wire)", None),
        ("[x](https://example.org/none.md)", None),
        ("`[x](none.md)`", None),
        ("[x](none.md)", "there is no none.md"),
        ("[x](protocol.md#packets)", "protocol.md has no heading for #packets"),
    ],
)
def test_a_link_leads_somewhere(root: Path, link: str, fault: str | None) -> None:
    found = list(stale(root / "docs" / "other.md", f"# Other\n\n{link}\n", root))
    assert (fault in found[0]) if fault else not found
