"""What callers hand in, checked before anything else happens: a wrong type gets the same kind of error as a wrong value."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from hardwon.errors import InvalidInputError, PlaceError
from hardwon.outside import files
from hardwon.outside.locations import is_url, without_password
from hardwon.records.fields import TIME_US_MAX, parse_time
from hardwon.records.kinds import Issue, Metadata, Moment, RelatedFile, Source, Validation
from hardwon.store.types import Cursor


class Envelope(TypedDict, total=False):
    """The keywords that `remember` and every `record_…` takes for the envelope, as `**envelope`; each has a default.

    author         who says so; the source that support and rollback are counted by
    source         `{"type": …, "id": …}`: what sort of source, and the session or run
    timestamp      when it happened, with a zone; now where nobody says
    tags           words to filter by
    related_files  paths of files that it is about; they are hashed now
    git_commit     the commit it happened at; the checkout's own where nobody says
    git_branch     the branch, likewise
    failure_hash   the hash of how something failed (`failure_hash(text)`)
    recalled       the context, or the ids, that were shown before the attempt: its outcome credits them
    """

    author: str
    source: Source | Mapping[str, Any]
    timestamp: datetime | str | int
    tags: Sequence[str]
    related_files: Sequence[str | Path | RelatedFile | Mapping[str, Any]]
    git_commit: str
    git_branch: str
    failure_hash: str
    recalled: Any


ENVELOPE_KEYWORDS = tuple(Envelope.__annotations__)


def items(field: str, value: Any) -> list[Any]:
    """A list of whatever the caller gave one after the other. A text is not a list of its letters."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError.one(field, value, "a list")
    return list(value)


def mapping(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError.one(field, value, "an object (a mapping)")
    return dict(value)


def whole_number(field: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInputError.one(field, value, f"a whole number from {least} to {most}")
    return value


def text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError.one(field, value, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInputError.one(field, value, "text that UTF-8 can encode (no lone surrogates)") from None
    return value


def moment(field: str, value: Any) -> datetime:
    """A time with a zone, as a datetime, as ISO 8601 or in milliseconds."""
    try:
        return parse_time(value)
    except ValueError as error:
        raise InvalidInputError.one(field, value, f"a time with a zone ({error})") from None


def optional_text(field: str, value: Any) -> None:
    if value is not None:
        text(field, value)


def issue(given: Issue | Mapping[str, Any]) -> tuple[Issue, str | None]:
    """The issue, and the fixer that it names under `fixer_type`."""
    checked = given if isinstance(given, Issue) else Issue.model_validate(mapping("issue", given))
    fixer = (checked.__pydantic_extra__ or {}).get("fixer_type")
    optional_text("issue.fixer_type", fixer)
    return checked, fixer


def local(field: str, value: Any) -> None:
    """Raises where the url of a database stands for a file or folder."""
    if is_url(value):
        raise PlaceError(
            f"{field}: {without_password(value)} is a database, and here a file or folder of this machine is wanted; "
            "Memory(url), or hardwon --memory URL, opens a database"
        )


def path(field: str, value: Any) -> Path:
    local(field, value)
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInputError.one(field, value, "a path")
    try:
        str(value).encode()
        return Path(value).expanduser().absolute()
    except (UnicodeEncodeError, RuntimeError, OSError) as error:
        raise InvalidInputError.one(field, value, f"a path ({error})") from None


def record_id(value: Any) -> str:
    """As ids are kept. A text that is no UUID is the id of no record, and comes back empty."""
    if not isinstance(value, str | uuid.UUID):
        raise InvalidInputError.one("id", value, "the id of a record")
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        return ""


def cursor(value: Any) -> Cursor:
    """A place among records, as `written_cursor` wrote it."""
    try:
        at_us, record = base64.urlsafe_b64decode(text("cursor", value).encode()).decode().split("|")
        if not 0 <= int(at_us) <= TIME_US_MAX:
            raise ValueError(at_us)
        return Cursor(int(at_us), str(uuid.UUID(record)))
    except ValueError:
        raise InvalidInputError.one("cursor", value, "what a page gave as its next") from None


def written_cursor(place: Cursor) -> str:
    return base64.urlsafe_b64encode(f"{place.at_us}|{place.id}".encode()).decode()


def metadata(given: Mapping[str, Any], at: datetime, root: Path | None, memory_file: Path | None = None) -> Metadata:
    """The envelope from a caller's keywords; `root` is the checkout that related files are named from, `memory_file` the one
    file that none of them may be, where the memory has one."""
    for name, value in given.items():
        if name not in ENVELOPE_KEYWORDS:
            raise InvalidInputError.one(name, value, f"the keywords {', '.join(ENVELOPE_KEYWORDS)}")
    source = given.get("source", {})
    source = source.model_dump() if isinstance(source, Source) else mapping("source", source)
    if "author" in given:
        source["author"] = given["author"]
    moment: dict[str, Any] = {"timestamp": given.get("timestamp", at)}
    moment |= {name: given[name] for name in ("git_commit", "git_branch") if name in given}
    related = related_files(given.get("related_files", ()), root, memory_file)
    return Metadata(
        source=Source.model_validate(source),
        context=Moment.model_validate({**moment, "related_files": related}),
        validation=Validation.model_validate({"failure_hash": given.get("failure_hash")}),
        tags=items("tags", given.get("tags", ())),
    )


def related_files(given: Any, root: Path | None, memory_file: Path | None = None) -> list[RelatedFile]:
    """The files that a caller names, each with its hash."""
    return [_related(found, root, memory_file) for found in items("related_files", given)]


def _related(given: Any, root: Path | None, memory_file: Path | None) -> RelatedFile:
    """Hashed now, unless the hash is given; named from the checkout's root where it is inside, so that another checkout knows
    it too."""
    if isinstance(given, RelatedFile | Mapping):
        return given if isinstance(given, RelatedFile) else RelatedFile.model_validate(dict(given))
    absolute = path("related_files", given)
    inside = root is not None and absolute.is_relative_to(root)
    name = absolute.relative_to(root) if root and inside else Path(given)
    return RelatedFile(path=name.as_posix(), hash=_sha1_of(absolute, memory_file))


def _sha1_of(path: Path, memory_file: Path | None) -> str:
    """As remembered, where the file is as it was when it was last read."""
    try:
        status = path.stat()
    except OSError:
        return files.sha1_of(path)
    from hardwon.outside import git as checkout

    if (status.st_dev, status.st_ino) in checkout.identities_of(memory_file):
        # To close it would drop the locks that SQLite holds on it for this process.
        raise InvalidInputError.one("related_files", str(path), "files other than the memory itself")
    signature = checkout.signature_of(status)
    known = checkout.HASHES.known(str(path), signature)
    if known is None:
        begun_ns = time.time_ns()
        known = files.sha1_of(path)
        checkout.HASHES.keep(str(path), signature, known, begun_ns)
    return known
