"""The bounds that a user can run into: what is refused, cut, waited for or taken where nobody says, each a promise. Each
has its unit in its name and its reason in the comment above it. What only one module needs to know stands there.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB
DAY_US: Final = 86_400_000_000

# One text field. A long build log fits; a core dump pasted by accident does not.
TEXT_CHARS_MAX: Final = 200_000

# Short fields that are looked up by: task ids, authors, models, tags. Wider keys make every index
# page hold less.
NAME_CHARS_MAX: Final = 200

# The name of an extra key: a keyword argument, not a sentence.
KEY_CHARS_MAX: Final = 64

# Extra keys on one record. Beyond this a caller means to store a document, which is what `content`
# is for.
EXTRA_KEYS_MAX: Final = 64

# Tags, related files, mistakes, commands … on one record, each list by itself.
ITEMS_MAX: Final = 1_000

# Steps of one trajectory. The longest agent runs on public benchmarks stay below a thousand.
STEPS_MAX: Final = 10_000

# Nesting of free-form values (system_info, extra keys). Keeps every recursive walk far from
# Python's own limit.
JSON_DEPTH_MAX: Final = 16

# Values in one free-form object: a wide and deep one would otherwise take minutes to look through.
JSON_VALUES_MAX: Final = 100_000

# Whole numbers in free-form values: what SQLite, PostgreSQL and JSON readers of other languages can
# hold.
JSON_INT_ABS_MAX: Final = 2**63 - 1

# One record as JSON. A thousand such records still fit in memory while they are being written.
RECORD_BYTES_MAX: Final = 4 * MIB

# Records that one transaction keeps, cleans up or notes: a millisecond or two for each, and others
# must not wait for it as long as BUSY_TIMEOUT_MS. Whoever has more does it again.
TRANSACTION_RECORDS_MAX: Final = 10_000

# The JSON of all of them. It is held in memory, a few times over.
RECORDED_JSON_BYTES_MAX: Final = 64 * MIB

# The summary becomes part of a file name; with time, id and suffix it stays under every file
# system's 255 bytes.
SUMMARY_CHARS_MAX: Final = 50

# Evidence and lesson of a mistake card are cut here, as training memory always did: they are pasted
# into prompts.
CARD_TEXT_CHARS_MAX: Final = 300

# A related file larger than this is not hashed: it would hold up the write for longer than a
# second.
FILE_HASH_BYTES_MAX: Final = 256 * MIB

# How much of a record's text is searchable, and looked through for the words of a question. What a
# record is about shows in its first pages, and an index entry per word of a log would make the index
# larger than the records.
INDEXED_CHARS_MAX: Final = 20_000

# Distinct words of a query that are looked up; the cost of a search grows with each of them.
QUERY_TERMS_MAX: Final = 64

# How long a write waits for the writers before it. 32 processes that each wait for a disk sync fit
# many times.
BUSY_TIMEOUT_MS: Final = 60_000

# Rows that load, merge and doctor handle at a time, and that one request may bring: bounds memory,
# and lets other writers in between.
BATCH_ROWS: Final = 1_000

# One SQLite memory. Backups and checks of a larger file take hours; that is when PostgreSQL is the
# better home.
MEMORY_BYTES_MAX: Final = 64 * GIB

# Open connections per memory and process. A server allows a hundred in all unless told otherwise,
# and some processes share them; threads beyond this wait for one another.
POSTGRES_CONNECTIONS_MAX: Final = 16

# For how long a server that is away is tried again: a restart takes a few seconds, a switch to
# another server up to half a minute. Afterwards whoever called decides.
POSTGRES_RETRY_S: Final = 30.0

# The longest that one statement may run. Everyday ones take milliseconds; rebuilding a large memory
# is one statement at times, and takes minutes.
POSTGRES_STATEMENT_S: Final = 30 * 60

# The name of a project in PostgreSQL, in UTF-8. It leads every key, and with three other names of
# NAME_CHARS_MAX it has to fit into an entry of an index, which holds 2704 bytes.
PROJECT_BYTES_MAX: Final = 200

# Files or rows of each sort that a report on a tree, on staleness or on an older store names. It
# counts all of them.
REPORTED_MAX: Final = 1_000

# A rule, a mistake, an action as knowledge shows it, or an agent's word on it: a long sentence.
# Longer ones are told apart, and shown, by their beginning.
LESSON_CHARS_MAX: Final = 300

# What one record may teach of each sort (successes, mistakes, cards, pairs). Callers send three to
# five; a record with a thousand must not cost a thousand writes.
LESSONS_PER_RECORD_MAX: Final = 200

# The last steps of a trajectory are looked through for errors and what helped. Each takes tens of
# microseconds.
STEPS_LEARNED_MAX: Final = 500

# How much of an action, or of what it showed, its words and shape are taken from; and so how much of
# a command line is recorded.
ACTION_CHARS_MAX: Final = 4_000

# After so many days an attempt counts half. Long enough for a team's weekly rhythm, short enough
# that last year's release of a tool does not outvote this month's.
HALF_LIFE_DAYS: Final = 90
# What one author may say of a thing before it takes others to say as much: a careful colleague.
SOURCE_VOTES: Final = 8

# Distinct episodes that must speak for a rule before it is active, sources and tasks before it holds
# for the whole project, successes of a strategy before it is worth keeping in words, and failures
# before a fixer is told not to repeat it: one may be luck, mistaken, or hostile.
PROOFS_MIN: Final = 2

# A rule that no episode has shown for so long, while its task was done, is retired.
RULE_UNUSED_DAYS: Final = 180

# Hits, rules, cards, patterns, strategies … in one answer. A prompt holds ten, a person reads fifty;
# a program that wants everything uses `browse`.
SHOWN_MAX: Final = 1_000

# Records, problems, branches, hotspots … in one list that a person or a model reads, where
# nobody asks for more: a screen. What is longer is counted.
SCREEN_ITEMS: Final = 20

# Decisions of a task or the project that are in effect at once and are read for an answer.
DECISIONS_MAX: Final = 10_000

# How much of a text's beginning is looked at: a compiler's first error is the one that matters.
FAILURE_HEAD_CHARS: Final = 4_000

# How much of its end: a traceback ends with its exception, and a test run with its summary.
FAILURE_TAIL_CHARS: Final = 8_000

# One question and its whole answer: name lookup, connection, reply. Hosted models need a few
# seconds for a short reply; who waits longer has given up.
LLM_TIMEOUT_S: Final = 30.0

# One reply on the wire, headers included. A few rules are a few kilobytes; an endpoint must not
# fill our memory.
LLM_REPLY_BYTES_MAX: Final = 1 * MIB

# The budget of a context where the caller names none: a screen of text, a hundredth of a prompt.
CONTEXT_TOKENS: Final = 400

# That of what hooks tell an agent when it starts and when it is asked something: a few lines, each
# time.
AGENT_CONTEXT_TOKENS: Final = 160

# The largest budget. Whoever has more room wants the records themselves.
CONTEXT_TOKENS_MAX: Final = 100_000

# One line of a context. What a record has to say in a prompt fits a few sentences; a log does not
# belong there.
CONTEXT_LINE_CHARS_MAX: Final = 2_000

# Memories of one data set that is read. Twenty times the largest in use; all of them are held at
# once.
DATASET_MEMORIES_MAX: Final = 1_000_000

# A data set as JSON or JSON Lines: DATASET_MEMORIES_MAX memories of ordinary length.
DATASET_BYTES_MAX: Final = 512 * MIB

# A glob pattern: a dozen folders of full length and a name.
GLOB_CHARS_MAX: Final = 2_000

# A training memory's file. Its scores are all kept: at some twelve bytes each, it has room for
# millions of episodes.
TRAINING_FILE_BYTES_MAX: Final = 256 * MIB

# What is kept, or shown, of a longer text (an edit, an error, what an
# endpoint says) where its first sentence or two tell what it is: two lines on a screen.
BEGINNING_CHARS: Final = 200

# Age from which on failed fixes leave the history, where nobody says how old: as fix history always
# had it.
CLEANUP_DAYS: Final = 30

# An age in days that can be asked for: a century.
DAYS_MAX: Final = 36_500

# Days that a chart or trend of fixes may span: ten years, a point for every day.
FIX_DAYS_MAX: Final = 3_660

# All texts of one recorded attempt. At six bytes a character, the most that JSON takes, they stay
# within one record.
FIX_CHARS_MAX: Final = 400_000

# The budget of a fixer's context where the caller names none: a page. A fixer is asked once for an
# issue, and counted generously these are some five hundred tokens of a model's own.
FIX_CONTEXT_TOKENS: Final = 1_000

# A hook of an agent gives up after so long, whatever holds it up: the agent waits for it before and
# after every command.
AGENT_HOOK_S_MAX: Final = 4.0

# What an agent may tell a hook: a command and all that it printed. More is read, so that it can be
# written, and ignored.
AGENT_HOOK_INPUT_BYTES_MAX: Final = 16 * MIB

# A session that nothing was heard of for so long is over: a night's rest.
AGENT_SESSION_IDLE_S: Final = 6 * 3_600

# Longest path of a related file that is looked at. Real checkouts stay far below; file systems
# refuse more than 4,096.
PATH_CHARS_MAX: Final = 1_024

# How long the end of a test run, or a commit, waits for other writers. A person waits for it.
FEEDBACK_WAIT_MS: Final = 2_000

# Attempts of one author that count for, or against, what they recalled: more would let one agent
# lift what it likes.
VOTES_OF_AUTHOR_MAX: Final = 3

# Tokens of one memory. A team has tens; thousands would be one for every run, which nobody could
# look through.
TOKENS_MAX: Final = 1_000

# How long a token is valid where nobody says: a quarter. One that is forgotten somewhere ends by
# itself; for as long it is still listed, so that somebody who wonders why it does not work finds it.
TOKEN_DAYS: Final = 90

# How long an idempotency key is known. Whoever tries again does so within minutes, or after a
# weekend.
REQUESTS_REMEMBERED_DAYS: Final = 7

# A UUID has 36; nobody needs a longer one than a header of this size.
IDEMPOTENCY_KEY_CHARS_MAX: Final = 255

# Records, attempts or contradictions that are listed where nobody says how many: what a person goes
# through, some screens, some 100 KB.
PAGE_RECORDS: Final = 50

# Records on a page at most. A record may have a megabyte; most have two kilobytes.
PAGE_RECORDS_MAX: Final = 500

# Requests of one caller per second where the operator sets no other figure: more than a busy team
# of agents sends, and less than keeps a server from answering others.
REQUESTS_PER_S: Final = 500.0

# Where `hardwon serve` listens where nobody says: a number that no known service has.
SERVE_PORT: Final = 7433

# Exports, imports and backups under way; more are told to come again. Each takes room on the disk
# until its reader has all of it, and half of the threads are left for those who ask something
# small.
STREAMS_AT_ONCE_MAX: Final = 8

# Connections that are open at a time: below what systems allow a process, so that the memory's own
# files can be opened. While there are more, requests are told to come again.
SERVED_CONNECTIONS_MAX: Final = 900

# The body of one request: some of the largest records, or BATCH_ROWS ordinary ones.
BODY_BYTES_MAX: Final = 4 * RECORD_BYTES_MAX

# The body of an import, which goes to disk and not into memory. Larger files are loaded where the
# memory is.
IMPORT_BYTES_MAX: Final = 512 * MIB

# A text in a query or in a page's address. Escaped, it may have twelve times as many bytes, and much
# of what is between refuses those.
QUERY_TEXT_CHARS_MAX: Final = 4_000

# A browser that asked for nothing for so long is signed out: a working day.
WEB_SESSION_IDLE_S: Final = 8 * 3_600

# However busy it is, a browser signs in again after so long.
WEB_SESSION_S_MAX: Final = 7 * 24 * 3_600

# One skill. It is read whole where it is used; the specification asks for fewer than 5,000 tokens.
SKILL_TOKENS_MAX: Final = 3_000

# The structured result of one tool call as JSON, some 13,000 tokens: clients warn about, or cut,
# what is longer than some 25,000. A context is as long as its caller asked for.
TOOL_RESULT_CHARS_MAX: Final = 40_000

# The text of one tool call beside it: some screens.
TOOL_TEXT_CHARS_MAX: Final = 12_000

# One request over HTTP. A record of RECORD_BYTES_MAX fits, escaped and with what is around it.
MCP_BODY_BYTES_MAX: Final = 8 * MIB
