"""Every bound of the program, with its unit in the name and its reason beside it."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

# --- one record -------------------------------------------------------------------------------------------------

TEXT_CHARS_MAX: Final = 200_000
"""One text field. A long build log fits; a core dump pasted by accident does not."""

NAME_CHARS_MAX: Final = 200
"""Short fields that are looked up by: task ids, authors, models, tags. Wider keys make every index page hold less."""

KEY_CHARS_MAX: Final = 64
"""The name of an extra key: a keyword argument, not a sentence."""

EXTRA_KEYS_MAX: Final = 64
"""Extra keys on one record. Beyond this a caller means to store a document, which is what `content` is for."""

ITEMS_MAX: Final = 1_000
"""Tags, related files, mistakes, commands … on one record, each list by itself."""

STEPS_MAX: Final = 10_000
"""Steps of one trajectory. The longest agent runs on public benchmarks stay below a thousand."""

JSON_DEPTH_MAX: Final = 16
"""Nesting of free-form values (system_info, extra keys). Keeps every recursive walk far from Python's own limit."""

JSON_VALUES_MAX: Final = 100_000
"""Values in one free-form object: a wide and deep one would otherwise take minutes to look through."""

JSON_INT_ABS_MAX: Final = 2**63 - 1
"""Whole numbers in free-form values: what SQLite, PostgreSQL and JSON readers of other languages can hold."""

RECORD_BYTES_MAX: Final = 4 * MIB
"""One record as JSON. A thousand such records still fit in memory while they are being written."""

SUMMARY_CHARS_MAX: Final = 50
"""The summary becomes part of a file name; with time, id and suffix it stays under every file system's 255 bytes."""

SUMMARY_FROM_CONTENT_CHARS: Final = 30
"""How much of the content a generated summary is made of, as the BTB tree always did."""

CARD_TEXT_CHARS_MAX: Final = 300
"""Evidence and lesson of a mistake card are cut here, as training memory always did: they are pasted into prompts."""

FILE_HASH_BYTES_MAX: Final = 256 * MIB
"""A related file larger than this is not hashed: it would hold up the write for longer than a second."""

# --- text search ------------------------------------------------------------------------------------------------

INDEXED_CHARS_MAX: Final = 20_000
"""How much of a record's text is searchable. What a record is about shows in its first pages, and an index entry
per word of a log would make the index larger than the records."""

TERM_CHARS_MAX: Final = 64
"""One search term. Longer runs are hashes and base64, which nobody types; they are cut, so their start is found."""

QUERY_TERMS_MAX: Final = 64
"""Distinct words of a query that are looked up; the cost of a search grows with each of them."""

RECALL_K_MAX: Final = 1_000
"""Hits of one recall. An agent reads a handful; a program that wants everything uses `browse`."""

# --- the store --------------------------------------------------------------------------------------------------

BUSY_TIMEOUT_MS: Final = 60_000
"""How long a write waits for the writers before it. 32 processes that each wait for a disk sync fit many times."""

CONNECTIONS_MAX: Final = 8
"""Open connections per memory and process. Threads beyond this wait for one another; SQLite has one writer anyway."""

PAGE_ROWS: Final = 500
"""Rows that `browse` fetches at a time, so that no read transaction stays open while the caller thinks."""

BATCH_ROWS: Final = 1_000
"""Rows that load, merge and doctor handle at a time: bounds memory, and lets other writers in between."""

ADD_BATCH_ROWS: Final = 200
"""Rows that `add_many` prepares at a time inside its transaction. Fewer survive a garbage collection than of a thousand,
which would have Python look through everything else the caller holds."""

MEMORY_BYTES_MAX: Final = 64 * GIB
"""One SQLite memory. Backups and checks of a larger file take hours; that is when PostgreSQL is the better home."""

MEMORY_WARN_SHARE: Final = 0.8
"""From this share of MEMORY_BYTES_MAX on, opening or writing warns."""

OPEN_CHECK_BYTES_MAX: Final = 1 * MIB
"""A file up to this size is checked whole whenever it is opened: a few milliseconds. Larger ones are checked where they
are read, and whole by `doctor`."""

FORK_WAIT_S: Final = 10.0
"""How long a fork waits for other threads of the process to finish their statements."""
