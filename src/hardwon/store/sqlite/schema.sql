-- The format of a memory's file: everything that is in a new one. Every key but those of the fix history is led by
-- `project_id`, or by a row number that belongs to one project: no index entry belongs to two.

-- One row per record. `body` is the record's JSON and the truth; `digest` tells whether it is undamaged; all
-- other columns are derived from it so that filters need not read JSON. `status`, `validation`, `helped` and
-- `hindered` are what the record's events add up to (`validation` NULL: nothing changed since it was written), and
-- so is `author`: `ann via import` where the record came from elsewhere. `teaching` is what the record teaches as a
-- run (`lessons/teaching.py`).
CREATE TABLE record (
    seq INTEGER PRIMARY KEY,
    project_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    author TEXT NOT NULL,
    outcome TEXT,
    tool TEXT,
    task_id TEXT,
    model TEXT,
    issue_type TEXT,
    body TEXT NOT NULL,
    digest BLOB NOT NULL,
    status TEXT NOT NULL,
    validation TEXT,
    teaching TEXT,
    helped INTEGER NOT NULL DEFAULT 0,
    hindered INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX record_by_id ON record (project_id, id);
CREATE INDEX record_by_time ON record (project_id, at_us);
CREATE INDEX record_by_task ON record (project_id, task_id, at_us, id) WHERE task_id IS NOT NULL;
CREATE INDEX record_by_issue ON record (project_id, model, issue_type, at_us, id) WHERE model IS NOT NULL;
CREATE INDEX record_decision ON record (project_id, outcome, at_us, id) WHERE kind = 'decision';
CREATE INDEX record_counted ON record (project_id, kind, outcome, tool, status, author, at_us / 86400000000);
CREATE INDEX record_vouched ON record (project_id, at_us) WHERE kind = 'episode' AND status IN ('verified', 'published');
CREATE INDEX record_helped ON record (project_id, status, helped, at_us, id) WHERE helped > 0;

-- The search terms of each record, under the same row number, and its marks (`store/sqlite/connection.py`). The
-- index of these terms is an FTS5 table, and a view of what it indexes, for each project: `words_…`, made with the
-- project's first record.
CREATE TABLE record_text (
    seq INTEGER PRIMARY KEY, terms TEXT NOT NULL, marks TEXT NOT NULL
) STRICT;

-- For the filters `tag` and `path`, and what records are found by exactly: signatures, failure hashes, what a
-- decision decides.
CREATE TABLE record_tag (
    seq INTEGER NOT NULL, tag TEXT NOT NULL, project_id TEXT NOT NULL, PRIMARY KEY (seq, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_tag_by_tag ON record_tag (project_id, tag, seq);
CREATE TABLE record_file (
    seq INTEGER NOT NULL, path TEXT NOT NULL, project_id TEXT NOT NULL, PRIMARY KEY (seq, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_file_by_path ON record_file (project_id, path, seq);
-- Very many records have the same keys, so each key stands there once.
CREATE TABLE key_name (
    id INTEGER PRIMARY KEY, project_id TEXT NOT NULL, key TEXT NOT NULL, UNIQUE (project_id, key)
) STRICT;
CREATE TABLE key_record (
    key INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (key, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_record_by_record ON key_record (seq, key);
CREATE VIEW record_key AS
SELECT l.seq, n.key, n.project_id FROM key_name n JOIN key_record l ON l.key = n.id;
CREATE TRIGGER record_key_insert INSTEAD OF INSERT ON record_key BEGIN
    INSERT INTO key_name (project_id, key) VALUES (NEW.project_id, NEW.key) ON CONFLICT DO NOTHING;
    INSERT INTO key_record SELECT id, NEW.seq FROM key_name WHERE project_id = NEW.project_id AND key = NEW.key;
END;
CREATE TRIGGER record_key_delete INSTEAD OF DELETE ON record_key BEGIN
    DELETE FROM key_record WHERE seq = OLD.seq
    AND key = (SELECT id FROM key_name WHERE project_id = OLD.project_id AND key = OLD.key);
    DELETE FROM key_name WHERE project_id = OLD.project_id AND key = OLD.key
    AND NOT EXISTS (SELECT 1 FROM key_record WHERE key_record.key = key_name.id);
END;

-- Vectors of records, and which embedder made them, where one is used.
CREATE TABLE record_vector (
    seq INTEGER PRIMARY KEY, project_id TEXT NOT NULL, vector BLOB NOT NULL
) STRICT;
CREATE INDEX record_vector_by_project ON record_vector (project_id, seq);
CREATE TABLE embedder (project_id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- What happened to records after they were created; `forgotten` events are the tombstones.
CREATE TABLE event (
    project_id TEXT NOT NULL,
    id TEXT NOT NULL,
    record_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_by_record ON event (project_id, record_id, at_us, id);
CREATE INDEX event_by_time ON event (project_id, at_us, id);
CREATE INDEX event_forgotten ON event (project_id, record_id) WHERE kind = 'forgotten';
CREATE INDEX event_stale ON event (project_id, at_us, id) WHERE kind = 'stale';

-- What the records taught, counted (`lessons/counts.py` lists the scopes). Derived, like everything but `body` and
-- `event`.
CREATE TABLE tally (
    project_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    item TEXT NOT NULL,
    day INTEGER NOT NULL,
    author TEXT NOT NULL,
    vouched INTEGER NOT NULL,
    level0 INTEGER NOT NULL, level1 INTEGER NOT NULL, level2 INTEGER NOT NULL,
    level3 INTEGER NOT NULL, level4 INTEGER NOT NULL, level5 INTEGER NOT NULL,
    PRIMARY KEY (project_id, scope, key, item, day, author)
) STRICT, WITHOUT ROWID;

-- What only this file needs to know, such as its format, or when it was last consolidated. Never
-- merged or exported.
CREATE TABLE state (
    project_id TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (project_id, name)
) STRICT, WITHOUT ROWID;

-- Requests with a key that were carried out.
CREATE TABLE request (
    project_id TEXT NOT NULL,
    key BLOB NOT NULL,
    said BLOB NOT NULL,
    ids TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (project_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_at ON request (at_us);

-- The files that mirror experiences, where a project has a tree (`tree/tables.py`). Triggers note what happens to
-- records, whoever does it, so that their files follow. `tree_forgotten` has the ids of files whose memory was
-- forgotten: they are not taken in again. Like `state`, of this place alone.
CREATE TABLE tree (
    project_id TEXT PRIMARY KEY, id TEXT NOT NULL, routes TEXT NOT NULL, boot TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tree_folder (
    id INTEGER PRIMARY KEY,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tree_folder_by_path ON tree_folder (project_id, path);
CREATE TABLE tree_file (
    folder INTEGER NOT NULL,
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    state INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (folder, name, seq, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX tree_file_by_state ON tree_file (state, seq);
CREATE TABLE tree_forgotten (
    project_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER tree_record_archived AFTER UPDATE OF status ON record
WHEN OLD.status <> 'archived' AND NEW.status = 'archived' BEGIN
    UPDATE tree_file SET state = 2 WHERE seq = NEW.seq AND state IN (0, 1);
END;
CREATE TRIGGER tree_record_erased AFTER DELETE ON record BEGIN
    DELETE FROM tree_file WHERE seq = OLD.seq AND state = 3;
    UPDATE tree_file SET state = 2, seq = -OLD.seq WHERE seq = OLD.seq AND state IN (0, 1, 2);
END;

-- The tables of fix history, for any SQLite client to read: the fixes of the default project. Derived, and refused
-- to whoever writes into them directly (`fixes/tables.py`). Their indexes are wider than their names say, so that
-- common questions are answered by an index alone.
CREATE TABLE fix_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    model_name TEXT NOT NULL,
    issue_type TEXT NOT NULL,
    issue_signature TEXT NOT NULL,
    description TEXT NOT NULL,
    fixer_type TEXT NOT NULL,
    claude_analysis TEXT NOT NULL,
    fix_commands TEXT NOT NULL,
    fix_success BOOLEAN NOT NULL,
    verification_success BOOLEAN NOT NULL,
    execution_time_seconds REAL,
    system_info TEXT NOT NULL,
    notes TEXT
);
CREATE INDEX idx_fix_history_timestamp ON fix_history (timestamp, model_name, fix_success);
CREATE INDEX idx_fix_history_model ON fix_history (model_name, issue_type, fix_success, verification_success, timestamp);
CREATE INDEX idx_fix_history_issue_type
    ON fix_history (issue_type, fix_success, verification_success, timestamp, execution_time_seconds);
CREATE INDEX idx_fix_history_signature ON fix_history (issue_signature, fix_success, verification_success, timestamp);
CREATE INDEX idx_fix_history_fixer_type ON fix_history (fixer_type, fix_success, verification_success);
CREATE INDEX idx_fix_history_success ON fix_history (fix_success, verification_success);
CREATE TABLE issue_patterns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pattern_name TEXT UNIQUE NOT NULL,
    issue_signature TEXT NOT NULL,
    success_count INTEGER DEFAULT 0,
    failure_count INTEGER DEFAULT 0,
    best_fix TEXT,
    last_seen TEXT,
    confidence_score REAL DEFAULT 0.0
);
CREATE TABLE model_characteristics (
    model_name TEXT PRIMARY KEY,
    total_tests INTEGER DEFAULT 0,
    success_rate REAL DEFAULT 0.0,
    common_issues TEXT,
    effective_fixes TEXT,
    last_updated TEXT,
    performance_notes TEXT
);

-- What those tables are kept with: sums, the authors that do not count, the lock.
CREATE TABLE fix_count (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    item TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    applied INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    PRIMARY KEY (scope, key, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX fix_count_best ON fix_count (scope, key, verified DESC, attempts);
CREATE TABLE fix_strategy (
    strategy TEXT PRIMARY KEY, seq INTEGER NOT NULL, fix_commands TEXT NOT NULL, analysis TEXT NOT NULL,
    words TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fix_left_out (author TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
-- What is put together from the sums: `issue_patterns` and `model_characteristics` as they are to be. What was
-- done most often with success comes first; ten of a kind are listed.
CREATE VIEW issue_patterns_now AS
SELECT p.key AS pattern_name, p.item AS issue_signature, p.verified AS success_count,
    p.attempts - p.verified AS failure_count, min(1.0, p.attempts / 10.0) AS confidence_score,
    (SELECT json_object('fix_commands', json(w.fix_commands), 'analysis', w.analysis, 'verified', s.verified)
        FROM fix_count s JOIN fix_strategy w ON w.strategy = s.item
        WHERE s.scope = 'pattern' AND s.key = p.key AND s.verified > 0
        ORDER BY s.verified DESC, s.attempts, s.item LIMIT 1) AS best_fix,
    (SELECT max(at) FROM (
        SELECT max(timestamp) AS at FROM fix_history WHERE issue_signature = p.item
        UNION ALL SELECT max(strftime('%Y-%m-%dT%H:%M:%S', r.at_us / 1000000, 'unixepoch')
            || printf('.%06d+00:00', r.at_us % 1000000))
        FROM record_key k JOIN record r ON r.seq = k.seq WHERE k.project_id = 'default'
        AND k.key = 'cleaned:' || p.item AND r.status <> 'archived'
        AND r.author NOT IN (SELECT author FROM fix_left_out))) AS last_seen
FROM fix_count p WHERE p.scope = 'pattern_of';
CREATE VIEW model_characteristics_now AS
SELECT c.key AS model_name, sum(c.attempts) AS total_tests,
    CAST(sum(c.verified) AS REAL) / sum(c.attempts) AS success_rate,
    (SELECT json_group_array(item) FROM (SELECT item FROM fix_count i WHERE i.scope = 'issue' AND i.key = c.key
        ORDER BY i.attempts DESC, i.item LIMIT 10)) AS common_issues,
    (SELECT json_group_array(words) FROM (SELECT w.words FROM fix_count s JOIN fix_strategy w
        ON w.strategy = s.item WHERE s.scope = 'model' AND s.key = c.key AND s.verified > 0
        ORDER BY s.verified DESC, s.attempts, s.item LIMIT 10)) AS effective_fixes,
    (SELECT strftime('%Y-%m-%dT%H:%M:%S', max(at_us) / 1000000, 'unixepoch')
        || printf('.%06d+00:00', max(at_us) % 1000000)
        FROM record WHERE project_id = 'default' AND model = c.key AND kind IN ('fix', 'cleaned')
        AND status <> 'archived' AND author NOT IN (SELECT author FROM fix_left_out)) AS last_updated,
    sum(c.applied) || ' of ' || sum(c.attempts) || ' fixes were applied, ' || sum(c.verified)
        || ' of them verified' AS performance_notes
FROM fix_count c WHERE c.scope = 'issue' GROUP BY c.key;
CREATE TABLE fix_guard (open INTEGER NOT NULL) STRICT;
INSERT INTO fix_guard VALUES (0);
CREATE TRIGGER fix_history_insert_guarded BEFORE INSERT ON fix_history
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'fix_history is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER fix_history_update_guarded BEFORE UPDATE ON fix_history
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'fix_history is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER fix_history_delete_guarded BEFORE DELETE ON fix_history
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'fix_history is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER issue_patterns_insert_guarded BEFORE INSERT ON issue_patterns
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'issue_patterns is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER issue_patterns_update_guarded BEFORE UPDATE ON issue_patterns
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'issue_patterns is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER issue_patterns_delete_guarded BEFORE DELETE ON issue_patterns
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'issue_patterns is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER model_characteristics_insert_guarded BEFORE INSERT ON model_characteristics
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'model_characteristics is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER model_characteristics_update_guarded BEFORE UPDATE ON model_characteristics
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'model_characteristics is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
CREATE TRIGGER model_characteristics_delete_guarded BEFORE DELETE ON model_characteristics
WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
    SELECT RAISE(ABORT, 'model_characteristics is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
END;
