"""The SQLite schema, as the ordered changes that led to it: the files in `schema/`. A released one
is never edited: add a new one.

record       one row per record. `body` is the record's JSON and the truth; `digest` tells whether
             it is undamaged; all other columns are derived from it so that filters need not read
             JSON. `status`, `validation`, `helped` and `hindered` are what the record's events add
             up to (`validation` NULL: nothing changed since it was written), and so is `author`: `ann via
             import` where the record came from elsewhere.
record_text  the search terms of each record, under the same row number, and its marks
             (`store.sqlite.connection`).
words_…      the index of these terms: an FTS5 table, and a view of what it indexes, for each project.
record_tag, record_file   for the filters `tag` and `path`.
event        what happened to records after they were created; `forgotten` events are the
             tombstones.
record_key   what records are found by exactly: signatures, failure hashes, what a decision decides.
record_vector, embedder   vectors of records, and which embedder made them, where one is used.
tally        what the records taught, counted (`learn.tallies` lists the scopes). Derived, like
             everything but body and event.
state        what only this file needs to know, such as when it was last consolidated, or the
             number of the last transaction (`store.sqlite.log`). Never merged or exported.
tree, tree_folder, tree_file   the files that mirror experiences, where a project has a tree
             (`tree.tables`). Triggers note what happens to records, whoever does it, so that their
             files follow.
tree_forgotten   ids of files whose memory was forgotten: they are not taken in again. Like state,
             of this place alone.
fix_history, issue_patterns, model_characteristics   the tables of fix history, for any SQLite
             client to read: the fixes of the default project. Derived, and refused to whoever
             writes into them directly (`fixes.tables`). Their indexes are wider than their names
             say, so that common questions are answered by an index alone.
fix_count, fix_left_out, fix_guard   what those tables are kept with: sums, the authors that do not
             count, the lock.

Every other key is led by project_id, or by a row number that belongs to one project: no index entry
belongs to two.
"""

from __future__ import annotations

from pkgutil import get_data
from typing import Final

APPLICATION_ID: Final = 0x48415244  # "HARD": tells our files from every other SQLite database
SCHEMA_VERSION: Final = 12
# After this change the records that are there already are learned from anew.
KNOWLEDGE_SINCE: Final = 11
# After this one they are indexed anew.
WORDS_SINCE: Final = 10

# 6 and 9 change nothing but what is learned: facts got keys of their own, by which one that says the
# same is found, and steps that their reward calls failed are counted so. 7 keeps the requests that
# were carried out, and counts without reading the records (a million took five seconds); 8 finds
# what helped, and what went stale, without reading every record and event. 10 gives each project a
# search index of its own, of words in every form. 11 keeps a code of one-bit numbers with each
# vector, by which the nearest are found (older vectors get theirs when they are first asked for),
# hashes failures otherwise, counts actions by their kind and their task, keeps of all that was tried
# how it turned out, and tells sources apart by where a record came from. 12 finds files by one index
# where there were two, so that each write of a tree goes to fewer pages, and counts records by day
# without sorting them.
MIGRATIONS: Final = tuple(
    (get_data(__name__, f"schema/{number}.sql") or b"").decode()
    for number in range(1, SCHEMA_VERSION + 1)
)
