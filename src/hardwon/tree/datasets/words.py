"""What happens in those programs: bugs with their causes and cures, errors with their reasons, facts, wishes. Entries of one
group hang together, so that a memory never fixes a deadlock by adding an index."""

# ruff: noqa: E501  # one entry is one line, as in any table

from __future__ import annotations

from typing import Final

from hardwon.tree.datasets.areas import AREAS, Entry


def _table(fields: str, *lines: str) -> tuple[Entry, ...]:
    """One entry a line; fields separated by bars, alternatives of a field by semicolons."""
    names = fields.split()
    return tuple(
        {name: tuple(item.strip() for item in cell.split(";")) for name, cell in zip(names, line.split("|"), strict=True)}
        for line in lines
    )


def _in_step(fields: str, *lines: str) -> tuple[Entry, ...]:
    """The same, where the second alternative of one field goes with the second of the others; a lone one goes with all."""
    entries: list[Entry] = []
    for entry in _table(fields, *lines):
        steps = max(len(cell) for cell in entry.values())
        entries += [
            {name: (cell[step] if len(cell) > 1 else cell[0],) for name, cell in entry.items()} for step in range(steps)
        ]
    return tuple(entries)


BUGS: Final = _table(
    "bug solution cause symptom",
    "race condition|adding a mutex around the shared state; taking a row lock first|two workers updating the same row; a check and an update that were two statements|lost updates; duplicate entries",
    "deadlock|always taking locks in id order; shortening the transaction|two transactions locking the same rows in opposite order|requests that never return; stalled workers",
    "memory leak|closing the response body in a finally block; using a weak reference for listeners|a listener that was never removed; a module-level cache without a bound|memory growth overnight; workers killed for using too much memory",
    "off-by-one error|making the upper bound exclusive; slicing instead of counting|a range that included its end; counting from one in one place and from zero in another|a missing last item; one item too many",
    "null dereference|returning an empty list instead of None; validating the optional field first|an optional field that older clients leave out; a lookup that returned nothing|crashes for new accounts; empty answers",
    "N+1 query|joining the related table up front; loading the relation with select_related|a lazy relation read inside a loop; a serializer that fetched each owner|slow list pages; hundreds of queries per request",
    "stale cache|deleting the key inside the transaction; adding the version to the cache key|invalidation that ran before the commit; a key that left out the tenant|old values after saving; changes that show up minutes later",
    "time zone bug|storing UTC and converting at the edge; comparing aware datetimes only|a naive datetime compared with an aware one; the server's local time leaking into the data|times shifted by one hour; wrong dates after the clock change",
    "encoding error|decoding as UTF-8 with an explicit error handler; normalising to NFC before comparing|a Latin-1 file read as UTF-8; bytes and text mixed in one buffer|garbled umlauts; names that never match",
    "integer overflow|switching the column to bigint; checking the bound before multiplying|a 32-bit counter that passed two billion; cents multiplied before dividing|negative totals; ids that wrap around",
    "infinite retry loop|capping retries with exponential backoff and jitter; not retrying permanent errors|a permanent error treated as temporary; a retry that reset its own counter|a flood of identical requests; queues that never empty",
    "connection leak|using the pool as a context manager; returning connections in a finally block|an early return that skipped close(); an exception between acquire and release|pool exhaustion at peak load; timeouts while acquiring a connection",
    "SQL injection|binding the parameter instead of formatting it; allow-listing the sort column|a sort column pasted into the statement; a search term formatted into LIKE|quotes that break the query; rows of other tenants",
    "flaky test|freezing the clock in the fixture; waiting for the event instead of sleeping|a sleep that was too short on CI; tests sharing one database row|random red builds; failures that vanish on rerun",
    "rounding error|using Decimal with ROUND_HALF_EVEN; keeping amounts in cents|binary floats used for money; rounding each line before adding up|totals that differ by a cent; sums that do not match",
    "broken pagination|ordering by a unique key as tie-breaker; switching to keyset pagination|an ORDER BY that was not unique; rows inserted between two page requests|items shown twice; skipped items",
    "missing CORS header|answering preflight requests in the middleware; adding the header to error responses too|error responses that bypassed the middleware; a preflight request that was redirected|blocked browser calls; failures only in the browser",
    "circular import|moving shared types into their own module; importing inside the function|two modules that needed each other's types at import time|a half-initialised module; an ImportError at start-up only",
    "wrong default argument|using None as default and creating the list inside; copying the mapping before changing it|a mutable default shared by all calls|values leaking between calls; lists that keep growing",
    "file descriptor leak|opening files in a with block; closing the pipe after fork|a temporary file that nobody closed; sockets kept by finished threads|too many open files after a day; refused connections",
    "unhandled promise rejection|awaiting the promise inside try/catch; returning the promise from the handler|a missing await before an async call; a callback that swallowed the rejection|silent failures; saves that never happen",
    "unicode sorting bug|sorting by a collation key; casefolding before comparing|byte order used instead of a collation|names with accents at the end of lists; unstable ordering",
    "missing index|adding a composite index on tenant and date; rewriting the filter so that the index applies|a filter on a computed column; a type cast that hid the index|full table scans; queries slower with every week",
    "lost update|checking the version column on save; sending If-Match with the ETag|two editors saving over one another; a PUT that replaced the whole record|overwritten edits; settings that flip back",
)

PATTERNS: Final = _table(
    "pattern gain",
    "the repository pattern|storage can be swapped in tests",
    "dependency injection|no test patches globals any more",
    "the strategy pattern|a new variant is one class",
    "small pure functions|each rule is tested by itself",
    "a state machine|illegal transitions are refused in one place",
    "dataclasses instead of dictionaries|typos show up in mypy",
    "async context managers|connections are always returned",
    "an event bus|modules no longer import one another",
    "the adapter pattern|both providers share one interface",
    "early returns instead of nested ifs|the happy path reads top to bottom",
    "a single query builder|filters are combined in one place",
    "composition over inheritance|the four-level class tree is gone",
    "generator pipelines|memory use no longer grows with the input",
    "typed errors|callers can tell bad input from an outage",
    "the command pattern|every change can be undone and logged",
    "feature modules|related code changes together",
    "an explicit transaction boundary|half-written records cannot occur",
    "table-driven tests|a new case is one line",
)

TECHNOLOGIES: Final = _table(
    "technology technique",
    "FastAPI and pydantic|request models that validate themselves",
    "SQLAlchemy and asyncpg|a bounded connection pool",
    "Redis streams|consumer groups",
    "PostgreSQL advisory locks|one lock per tenant",
    "PostgreSQL LISTEN/NOTIFY|a single listening connection",
    "Celery and RabbitMQ|late acknowledgement",
    "gRPC streaming|deadlines on every call",
    "WebSockets|heartbeats every 20 seconds",
    "SQLite in WAL mode|one writer and many readers",
    "Kafka transactions|an idempotent producer",
    "NATS JetStream|pull consumers",
    "Rust and PyO3|zero-copy buffers",
    "DuckDB|queries over Parquet files",
    "Node.js worker threads|transferable buffers",
    "Django signals|hooks that run after commit",
    "GraphQL dataloaders|one batch per tick",
    "Server-Sent Events|resumable event ids",
    "Go channels|a fixed pool of workers",
    "asyncio task groups|cancellation that reaches every task",
    "Redis Lua scripts|check and update in one step",
    "Temporal workflows|activities that can be retried",
    "TypeScript and Zod|types inferred from the schema",
    "Protocol Buffers|fields that may be added later",
    "a thread pool|a queue with an upper bound",
)

SPEEDUPS: Final = _table(
    "speedup",
    "batching the inserts; caching compiled regular expressions; replacing the nested loop with a dictionary; streaming instead of loading everything",
    "moving the JSON parsing out of the loop; prefetching related rows; using a covering index; reusing one HTTP connection",
    "avoiding a deep copy; computing the totals in SQL; compressing responses; sorting once instead of on every insert",
)

RUNTIME_ERRORS: Final = _in_step(
    "error action reason",
    "TypeError|calling {function} with None; adding a str and an int in {function}; awaiting the result of {function}|the optional argument was never validated; the JSON number arrived as text; the function is not a coroutine",
    "KeyError|reading 'tenant_id' from the payload in {function}; looking up the currency in {function}; accessing row['email'] in {module}|older clients leave the key out; the mapping is keyed by upper case; the column was renamed last week",
    "ValueError|parsing the date in {function}; converting the quantity to int in {module}; unpacking the tuple that {function} returns|the input is empty on weekends; a thousands separator was left in; a third element was added",
    "AttributeError|reading .id of what {function} returned; calling .strip() on a missing field in {module}; using the client before {function} ran|it returns None when nothing matches; the field is null for imported rows; the client is created lazily",
    "IndexError|taking the first hit in {function}; reading the third column in {module}; popping from the empty queue in {function}|empty results were not considered; short lines end the file; two consumers share the queue",
    "ZeroDivisionError|averaging {noun} in {function}; computing the rate in {module}; scaling the progress bar in {function}|a tenant without data has a count of zero; the interval can be zero after a restart; the total is only known later",
    "UnicodeDecodeError|reading {noun} from disk in {function}; decoding the response body in {module}; parsing the header in {function}|the export is Latin-1; the body is gzip-compressed; the file begins with a UTF-16 byte order mark",
    "ConnectionResetError|sending {noun} from {function}; holding the socket open in {module}; reusing a pooled connection in {function}|the load balancer closes idle connections after 60 seconds; the peer restarted during a deployment; keep-alive was longer than the server's",
    "IntegrityError|inserting {noun} in {function}; running the migration in {module}; upserting twice within {function}|the unique constraint covers deleted rows as well; old rows violate the new foreign key; two requests raced for the same key",
    "RecursionError|serialising {noun} in {function}; walking the tree in {module}; comparing two nodes in {function}|parent and child refer to one another; a cycle in the data was not expected; __eq__ calls itself through a property",
    "FileNotFoundError|opening the template in {function}; loading the fixtures of {module}; reading the lock file in {function}|the path is relative to the working directory; the fixture is not packaged; another process removed it first",
    "JSONDecodeError|parsing the reply in {function}; reading cached {noun} in {module}; loading the webhook body in {function}|an error page in HTML came back; the cache entry was cut off; the body is form-encoded",
    "AssertionError|checking the invariant in {function}; comparing {noun} before and after {function}; starting the worker in {module}|the list may be empty after filtering; ordering is not stable; the debug flag removes the set-up",
    "PermissionError|writing {noun} from {function}; binding to port 80 in {module}; opening the socket in {function}|the container runs as an unprivileged user; the volume is mounted read-only; the group lacks the write bit",
    "MemoryError|loading all {noun} in {function}; building the matrix in {module}; joining chunks in {function}|the file has forty million rows; a sparse format was expected; every chunk was kept until the end",
    "StopIteration|calling next() on {noun} in {function}; draining the generator in {module}|the generator was already consumed by logging; the first page is empty",
    "ModuleNotFoundError|importing the driver in {module}; starting {function} in the slim image|the optional extra is not installed there; the package was renamed in its last major release",
    "OverflowError|converting a timestamp in {function}; packing the counter in {module}|milliseconds were taken for seconds; the field has only 32 bits",
)

SYNTAX_FAULTS: Final = _table(
    "fault place",
    "missing closing parenthesis; unclosed bracket; missing colon; missing comma; unindented block; unterminated string literal; misplaced await; wrong f-string quotes; assignment instead of comparison; missing except clause; repeated keyword argument; positional argument after a keyword argument; non-default parameter after a default one|the list comprehension of {function}; the decorator above {function}; the argument list of {function}; the last branch of {function}; the helper below {function}; the patch to {function} on line {line}",
    "missing closing brace; unexpected token in an object literal; missing arrow in a callback; unterminated template literal; duplicate const declaration; stray comma in the imports; unclosed JSX tag; wrong generic bracket|the form for {noun}; the React view of the {component}; the browser client of {function}; the TypeScript types of {noun}",
    "missing END keyword; unbalanced quotes; trailing comma in the column list; misspelt JOIN keyword; missing parenthesis around the subquery|the migration for {noun}; the query that selects {noun}; the SQL view behind the {component}; the stored procedure called by {function}",
    "missing then after if; unbalanced quotes in a here-document; missing space before the closing bracket; stray done|the start script of the {component}; the clean-up script for {noun}; the shell wrapper around {function}",
    "wrong indentation of a list item; missing colon after a key; tab used for indentation; unquoted colon in a value|the deployment manifest of the {component}; the CI pipeline of the {component}; the YAML fixture with {noun}",
    "missing semicolon; unmatched brace; missing lifetime parameter; wrong match arm separator|the Rust port of {function}; the native module of the {component}; the Rust struct for {noun}",
)

LOGIC_FAULTS: Final = _table(
    "slip",
    "compared ids as text, so 10 sorted before 9; inverted the permission check; used the cached value after the update; counted cancelled entries as well; applied the correction twice",
    "filtered before the join instead of after; swapped start and end; treated zero as missing; forgot the tenant in the condition; took the first match instead of the best",
    "used local time for the cut-off; incremented the counter on retries too; returned early for empty input; rounded before summing up; merged defaults over the caller's values",
    "skipped the last batch; read the flag before it was set; ignored the sign of corrections; matched prefixes instead of whole names; reset the state in the wrong branch",
)

TIMEOUTS: Final = _in_step(
    "blocker limit",
    "an endless while loop in {function}; a regular expression backtracking in {function}; a recursive call without base case in {function}|execution time of {seconds} seconds; CPU time of {seconds} seconds; recursion depth of {depth}",
    "a full scan over {noun} in {function}; an unindexed join of {noun}; waiting for a lock on {noun} in {function}|statement time of {seconds} seconds; query time of {seconds} seconds; lock wait of {seconds} seconds",
    "polling the {component} without pause in {function}; a retry storm against the {component}; the test suite of the {component} hanging in {file}|run time of {seconds} seconds; retries of {retries} attempts; wait time of {seconds} seconds",
    "loading all {noun} at once in {file}; a quadratic comparison of {noun} in {function}; re-embedding {noun} one by one in {function}|runtime of {seconds} seconds; wall-clock time of {seconds} seconds; sandbox time of {seconds} seconds",
)

SUBJECTS: Final = _table(
    "subject site",
    "connection pooling with asyncpg; advisory locks in PostgreSQL; partial indexes in PostgreSQL; logical replication slots|the PostgreSQL manual; a maintainer's blog",
    "structured concurrency in Python; asyncio task groups; typing.Protocol and variance; packaging with pyproject.toml|the Python documentation; a PEP",
    "React server components; Suspense boundaries; hydration errors; view transitions in CSS|the React documentation; MDN",
    "OAuth2 device flow; PKCE for native apps; WebAuthn attestation; JWT revocation|the RFC; a security cheat sheet",
    "Kubernetes readiness probes; pod disruption budgets; Helm chart hooks; network policies|the Kubernetes documentation; a vendor's guide",
    "Rust async cancellation; borrow checker errors in closures; PyO3 and the GIL; cargo workspaces|the Rust book; docs.rs",
    "Kafka consumer rebalancing; exactly-once delivery; schema registry compatibility; log compaction|the Kafka documentation; a conference talk",
    "SQLite write-ahead logging; FTS5 tokenizers; busy timeouts; STRICT tables|the SQLite documentation; its forum",
    "GitHub Actions caching; reusable workflows; OIDC deployment credentials; matrix builds|the GitHub documentation; an issue thread",
    "HTTP caching headers; range requests; problem details in JSON; content negotiation|the RFC; MDN",
)
PAPERS: Final = _in_step(
    "paper finding",
    "retrieval-augmented generation; dense passage retrieval; late interaction ranking|lexical search remains a strong baseline; hard negatives matter most; reranking the first hundred is enough",
    "consistent hashing; vector clocks; conflict-free replicated data types|merges need no coordination; clocks alone cannot order writes; bounded loads avoid hot spots",
    "learned index structures; cardinality estimation; adaptive radix trees|gains vanish under updates; samples beat histograms on skewed data; cache misses dominate",
    "program repair with language models; test generation by fuzzing; flaky test detection|most patches overfit the tests; coverage levels off early; order dependence explains a third",
    "differential privacy; secure aggregation; federated averaging|noise can be split across rounds; dropouts need secret sharing; client drift slows convergence",
    "tail latency in distributed systems; load shedding; queueing with heavy tails|hedged requests help at the 99th percentile; early rejection keeps goodput; variance matters more than load",
    "reinforcement learning from human feedback; reward hacking; preference optimisation|small reward models are gamed quickly; reference-free losses are stable; diverse prompts matter",
    "code review effectiveness; pair programming; technical debt|small changes are reviewed better; benefits shrink with experience; interest is paid in onboarding time",
)
GENERAL_FINDS: Final = _table(
    "find",
    "a comparison of hosting prices; opening hours and address of the meetup venue; the release date of the next Ubuntu LTS; the public holidays of the customer's country",
    "a list of colour-blind safe palettes; the spelling rules for the style guide; reviews of ergonomic keyboards; the licence terms of the map data",
    "the postal address format of Japan; the exchange rate table of the central bank; the conference schedule; the trademark status of the product name",
    "a glossary of accounting terms; the time zone of the support team; the vendor's contact for invoices; a tutorial video for new users",
)
PURPOSES: Final = _table(
    "purpose",
    "before redesigning the {component}; to decide how {noun} are stored; while debugging {function}; for the design note on {feature}; to settle a review comment on {file}",
    "for the {component}; ahead of the {feature} work; after {behaviour} broke; to size the {component}; for the release notes of {feature}",
)

OCCASIONS: Final = _table(
    "occasion",
    "for the launch of {feature}; that was asked for in the {component} review; needed by whoever looks after the {component}; for the kick-off of the {feature} work; to answer a customer's question about {noun}; for the help page about {noun}",
)

SEARCH_BLOCKS: Final = _table(
    "blocked_by",
    "HTTP 403 from the vendor's bot protection; HTTP 429 after {retries} requests; a captcha in front of the forum; a paywall after the abstract; robots.txt disallowing the path; a login wall at the issue tracker; the proxy refusing the domain; a geo-block on the download page",
)
SEARCH_DRIFTS: Final = _table(
    "drift",
    "only marketing pages; threads about a product of the same name; answers for a version from ten years ago; job offers; posts about another language; forum spam; a different library with the same abbreviation; news articles without any code",
)

FILE_DEEDS: Final = _in_step(
    "deed deed_detail",
    "Moved|after comparing checksums of all {count} files; keeping modification times; into one subfolder per month",
    "Copied|to the staging volume without following symlinks; and verified all {count} checksums; with their permissions",
    "Archived|older than {count} days; after checking that nothing still reads them; as one tar file with a manifest",
    "Renamed|to lowercase names with dates in front; so that they match the naming rule; after a dry run over {count} names",
    "Sorted|by tenant and month; into subfolders by their first letter; by size before the upload",
    "Split|into files of {count} lines each; by customer; into one file per day",
    "Merged|into one file with a single header line; after dropping {count} repeated lines; in order of their timestamps",
    "Converted|from CSV to Parquet; from Latin-1 to UTF-8; from tabs to commas",
    "Deleted|which freed {count} MB; after a backup to the archive store; except for those changed this week",
    "Compressed|which saved {count} MB; with zstd at level nine; one archive per week",
    "Restored|from the nightly archive; with verified checksums; including hidden files",
    "Synchronised|with the second site; both ways without conflicts; over a slow link in {seconds} seconds",
)
FILE_PLACES: Final = _table(
    "folder",
    "data/raw; data/incoming; data/rejected; data/exports; var/spool; var/cache; archive/quarterly; staging/outbox; shared/team; exports/partners; samples/anonymised; work/scratch; storage/cold; backups/nightly; tests/fixtures; tmp/uploads; releases/current; queue/failed",
)
FILE_FAULTS: Final = _table(
    "file_fault file_why",
    "Permission denied; Operation not permitted|the folder belongs to root; the group lacks the write bit; the volume is mounted read-only; the immutable flag is set",
    "No space left on device; Disk quota exceeded|old logs filled the partition; temporary files were never removed; the snapshot doubled the usage",
    "No such file or directory|the path contains last month's name; a symlink points nowhere; the nightly job had moved it already",
    "File exists|an earlier run had been interrupted; names differ only in case; the target had not been emptied",
    "File name too long|the title was used as name; nested archives repeat the prefix",
    "Device or resource busy; Text file busy|an indexer still held it open; the mount was in use by a container",
    "Checksum mismatch; Unexpected end of file|the transfer was cut off; the archive was written by two processes; the disk reported read errors",
    "Too many open files|handles of finished uploads were never closed; the limit of the service is {count}",
)
FILE_ACTS: Final = _table(
    "file_act",
    "writing {noun} to {folder}; moving {noun} into {folder}; reading {noun} from {folder}; compressing {folder} for the {component}; replacing {file} during deployment; renaming {noun} in {folder}; listing {folder} from the {component}; copying {file} to {folder}",
)

UNKNOWNS: Final = _table(
    "mystery trace",
    "exited with status {status} and no output; stopped responding; was killed without a message; returned an empty answer; restarted by itself|no log line was written; the core dump is empty; it did not happen again on retry; monitoring shows nothing unusual; neither tool nor error could be identified; the trace ends in the middle of a call",
)

CONCEPTS: Final = _table(
    "concept aid",
    "why async functions need await; how the event loop schedules tasks; what a closure captures|with a diagram of the call stack; by stepping through a ten-line example",
    "the difference between authentication and authorisation; how PKCE protects the code exchange; why tokens expire|with a sequence diagram; by following one request through the log",
    "how isolation levels differ; why the index is not used; what a write-ahead log is for|with two psql sessions side by side; by reading the query plan together",
    "how optimistic locking works; when to retry and when not; what idempotent means|using the double-click example; with a table of outcomes",
    "how dependency injection helps testing; why mocks hide bugs; what a fixture's scope does|by rewriting one test together; comparing both versions",
    "what backpressure is; why queues only move the problem; how to read a flame graph|with numbers from last week's incident; by drawing the pipeline",
    "how generators save memory; why the default argument is shared; what the GIL protects|with a short interactive session; by measuring both variants",
    "how the borrow checker thinks; what a lifetime says; when to clone|by fixing the compiler errors one at a time; with coloured scopes",
)

PURPOSE_PATTERNS: Final = _table(
    "convention convention_for",
    "the factory pattern; a registry of constructors|creating {noun}; choosing a driver; building test doubles",
    "decorators; middleware|permission checks; retries around {noun}; request logging",
    "the outbox pattern; domain events|publishing {noun}; keeping the {component} in step; sending mails after commit",
    "dataclasses with slots; frozen value objects|passing {noun} around; keys of caches; results of queries",
    "context managers; scoped sessions|transactions around {noun}; temporary files; locks in the {component}",
    "snake_case suffixes with units; typed newtypes|durations and sizes; ids of {noun}; amounts of money",
    "a repository per aggregate; query objects|reading {noun}; filters of the {component}; reports",
    "soft deletion; versioned rows|removing {noun}; undo in the {component}; audits",
    "table-driven tests; golden files|parsers of {noun}; output of {function}; error messages",
    "feature flags; configuration layers|risky changes to the {component}; per-tenant behaviour; gradual rollouts",
)
HABITS: Final = _table(
    "habit before_what",
    "validate optional fields; check for None|calling string methods in {function}; passing {noun} on; writing to the {component}",
    "run the type checker; run the focused tests|touching {file}; committing a change to {function}; renaming anything in the {component}",
    "take a backup; try it on a copy|migrating {noun}; running the clean-up in {file}; changing the schema of the {component}",
    "read the failing test; reproduce the bug with a test|changing {function}; blaming the {component}; editing {file}",
    "check the query plan; measure with realistic data|adding an index for {noun}; optimising {function}; caching in the {component}",
    "acquire the lock; open the transaction|reading {noun} that will be updated; calling {function}; checking the state of the {component}",
    "normalise the encoding; strip the byte order mark|comparing {noun}; hashing input in {function}; parsing {file}",
    "ask for the expected format; confirm the scope|generating {noun}; rewriting {file}; starting on {feature}",
    "read the changelog; pin the version|upgrading what the {component} depends on; copying an example into {file}; trusting an answer about {feature}",
)
PREFERENCES: Final = _table(
    "wanted unwanted",
    "explicit error messages|generic ones; error codes alone",
    "inline comments in examples|separate documentation; a long introduction",
    "small commits with one purpose|one large commit; squashed branches",
    "type hints everywhere|docstrings that repeat the types; untyped helpers",
    "plain functions|class hierarchies; metaprogramming",
    "tables|long paragraphs; nested bullet lists",
    "tests written first|tests added at the end; manual checks",
    "a short plan before any code|code without explanation; questions after the fact",
    "standard library solutions|new dependencies; copied snippets",
    "metric units|imperial units; mixed notation",
    "SQL written out|ORM magic; query builders",
    "complete files|fragments with ellipses; diffs without context",
    "pytest fixtures|setUp methods; shared globals",
    "answers in German|answers in English; mixed languages",
    "one question at a time|long lists of questions; guesses",
    "composition|inheritance; mixins",
    "early returns|deep nesting; flags checked at the end",
    "measured numbers|estimates; adjectives",
    "keyboard shortcuts|mouse menus; wizards",
    "dark diagrams with labels|unlabelled screenshots; ASCII art",
)
FACTS: Final = _in_step(
    "tech does context",
    "PostgreSQL|evaluates the condition anew after waiting for a lock; locks the rows that are returned|READ COMMITTED transactions; SELECT FOR UPDATE statements",
    "SQLite|allows one writer at a time; lets readers go on while somebody writes|a process with several connections; write-ahead log mode",
    "asyncio.gather|runs awaitables concurrently; keeps the order of its arguments|one event loop; batch requests",
    "Redis|executes commands of one script without interleaving; drops keys by its eviction policy|a single shard; a cache with a memory bound",
    "Python|evaluates default arguments once; keeps insertion order of dictionaries|function definitions; every version from 3.7 on",
    "JavaScript|represents numbers as 64-bit floats; runs microtasks before timers|JSON identifiers above 2^53; the event loop",
    "Kafka|preserves order within a partition only; rebalances when a consumer is slow to poll|topics with several partitions; long-running handlers",
    "Git|stores snapshots and not diffs; never changes a commit that exists|its object database; rebased branches",
    "Docker|reuses layers up to the first changed instruction; sends the whole build context first|image builds; large repositories",
    "HTTP|treats PUT and DELETE as idempotent; forbids a body in 204 responses|retrying clients; REST interfaces",
    "TCP|delivers bytes without message borders; delays small packets by default|hand-written protocols; chatty services",
    "Kubernetes|sends SIGTERM before SIGKILL; restarts containers whose liveness probe fails|rolling updates; slow start-ups",
    "IEEE 754 arithmetic|cannot represent 0.1 exactly; depends on the order of additions|sums of prices; parallel reductions",
    "UTF-8|uses up to four bytes per code point; keeps ASCII unchanged|length limits in bytes; legacy parsers",
    "React|batches state updates; mounts effects twice|event handlers; development with strict mode",
    "Rust|drops values in reverse order of declaration; moves values unless they are Copy|scopes with guards; closures passed to threads",
    "S3|is strongly consistent for reads after writes; has no real folders|object listings; concurrent overwrites",
    "cron|runs in the server's time zone; skips or repeats jobs|hosts set to local time; nights of a clock change",
    "TLS|checks the host name and not the address; fails when clocks are far off|internal certificates; freshly booted devices",
    "Pandas|turns integer columns with gaps into floats; may return a view or a copy|CSV imports; chained assignments",
)

HAPPY: Final = _table(
    "pleased praised",
    "happy; pleased; delighted; impressed; satisfied|praised; complimented",
)
UNHAPPY: Final = _table(
    "displeased criticized",
    "frustrated; unhappy; annoyed; disappointed; dissatisfied|criticized; complained about",
)
ASPECTS: Final = _table(
    "good_aspect bad_aspect",
    "the clarity; the speed; the level of detail; the test coverage; the readable diff; the careful error handling; the migration path; the short summary|the slowness; the length; the missing tests; the unclear naming; the repeated mistakes; the jargon; the silent assumptions; the missing examples",
)
DELIVERABLES: Final = _table(
    "deliverable",
    "the {component} rewrite; the {feature} prototype; the fix in {function}; the write-up about {noun}; the pull request for {file}; the explanation of {function}; the migration of {noun}; the {component} dashboard; the {feature} demo",
)
WHERE: Final = _table(
    "where",
    "reviews of {file}; answers about the {component}; work on {feature}; tests of {function}; notes on {noun}; examples that use {function}",
)
REQUESTS: Final = _table(
    "request",
    "clarification of how {function} treats {noun}; a change to the defaults of the {component}; {feature} for the next release; an example that uses {function}; a shorter summary of the {component} design",
    "a flag that turns {feature} off; renaming {file}; a table of all {noun} with their owners; that {noun} be exported as CSV; a second opinion on {behaviour}; a rollback plan for the {component}",
)

GROUPS: Final[tuple[tuple[Entry, ...], ...]] = (
    AREAS,
    BUGS,
    PATTERNS,
    TECHNOLOGIES,
    SPEEDUPS,
    RUNTIME_ERRORS,
    SYNTAX_FAULTS,
    LOGIC_FAULTS,
    TIMEOUTS,
    SUBJECTS,
    PAPERS,
    GENERAL_FINDS,
    PURPOSES,
    OCCASIONS,
    SEARCH_BLOCKS,
    SEARCH_DRIFTS,
    FILE_DEEDS,
    FILE_PLACES,
    FILE_FAULTS,
    FILE_ACTS,
    UNKNOWNS,
    CONCEPTS,
    PURPOSE_PATTERNS,
    HABITS,
    PREFERENCES,
    FACTS,
    HAPPY,
    UNHAPPY,
    ASPECTS,
    DELIVERABLES,
    WHERE,
    REQUESTS,
)
NUMBERS: Final = {
    "percent": (12, 87),
    "seconds": (5, 900),
    "depth": (900, 5_000),
    "retries": (3, 60),
    "count": (12, 9_800),
    "line": (3, 940),
    "status": (3, 143),
}
"""Whole numbers that a memory may name, with the least and the most."""
