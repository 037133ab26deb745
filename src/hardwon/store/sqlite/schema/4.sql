
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
    CREATE INDEX tree_file_by_record ON tree_file (seq);
    CREATE INDEX tree_file_due ON tree_file (folder, name, seq) WHERE state IN (0, 2);

    CREATE TABLE tree_forgotten (
        project_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (project_id, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TRIGGER tree_record_archived AFTER UPDATE OF status ON record
    WHEN OLD.status <> 'archived' AND NEW.status = 'archived' BEGIN
        UPDATE tree_file SET state = 2 WHERE seq = NEW.seq AND state IN (0, 1);
    END;
    CREATE TRIGGER tree_record_erased AFTER DELETE ON record BEGIN
        DELETE FROM tree_file WHERE seq = OLD.seq AND state = 3;
        UPDATE tree_file SET state = 2, seq = -OLD.seq WHERE seq = OLD.seq;
    END;
    