
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
        validation TEXT
    ) STRICT;
    CREATE UNIQUE INDEX record_by_id ON record (project_id, id);
    CREATE INDEX record_by_time ON record (project_id, at_us);
    CREATE INDEX record_by_task ON record (project_id, task_id, at_us, id) WHERE task_id IS NOT NULL;
    CREATE INDEX record_by_issue ON record (project_id, model, issue_type, at_us, id) WHERE model IS NOT NULL;

    CREATE VIRTUAL TABLE record_text USING fts5 (terms, tokenize = "ascii tokenchars '_.-/:@#+$'");
    INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', 1);

    CREATE TABLE record_tag (
        seq INTEGER NOT NULL, tag TEXT NOT NULL, project_id TEXT NOT NULL, PRIMARY KEY (seq, tag)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX record_tag_by_tag ON record_tag (project_id, tag, seq);

    CREATE TABLE record_file (
        seq INTEGER NOT NULL, path TEXT NOT NULL, project_id TEXT NOT NULL, PRIMARY KEY (seq, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX record_file_by_path ON record_file (project_id, path, seq);

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
    