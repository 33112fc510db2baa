"""Tickets that are files."""

from pathlib import Path

from trued.errors import BadInput
from trued.protocols import TrackerIssue

LIMIT = 8 * 1024 * 1024  # at most this many bytes of a ticket: nobody writes a larger one by hand


class FileTracker:
    """A ticket without a tracker: everything is in the file, including its key."""

    def issue(self, name: str) -> TrackerIssue:
        path = Path(name)
        try:
            if not path.is_file():
                raise BadInput(f"there is no file {name}", then="check the path")
            if path.stat().st_size > LIMIT:
                raise BadInput(
                    f"{name} is larger than {LIMIT // 1024 // 1024} MB",
                    then="pass the ticket itself, not an archive or a dump",
                )
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput("the file is not UTF-8 text", f"{name}:1", "save it as UTF-8") from error
        except (OSError, ValueError) as error:
            raise BadInput(f"cannot read {name!r}", then="make it readable, or pass another file") from error
        if not text.strip().strip("\ufeff"):
            raise BadInput("the ticket is empty", f"{name}:1", "write down what is wanted")
        return TrackerIssue(key="", title="", body=text, url=name)
