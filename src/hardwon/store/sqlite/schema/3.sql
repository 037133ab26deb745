
    ALTER TABLE record ADD COLUMN helped INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE record ADD COLUMN hindered INTEGER NOT NULL DEFAULT 0;

    CREATE TABLE record_vector (seq INTEGER PRIMARY KEY, project_id TEXT NOT NULL, vector BLOB NOT NULL) STRICT;
    CREATE INDEX record_vector_by_project ON record_vector (project_id, seq);
    CREATE TABLE embedder (project_id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    