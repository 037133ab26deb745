
    CREATE TABLE request (
        project_id TEXT NOT NULL,
        key BLOB NOT NULL,
        said BLOB NOT NULL,
        ids TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        PRIMARY KEY (project_id, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX request_at ON request (at_us);
    CREATE INDEX record_counted ON record (project_id, kind, outcome, tool, status, author, at_us);
    