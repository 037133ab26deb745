
    CREATE TABLE record_key (
        seq INTEGER NOT NULL, key TEXT NOT NULL, project_id TEXT NOT NULL, PRIMARY KEY (seq, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX record_key_by_key ON record_key (project_id, key, seq);
    CREATE INDEX record_decision ON record (project_id, outcome, at_us, id) WHERE kind = 'decision';

    CREATE TABLE tally (
        project_id TEXT NOT NULL,
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        item TEXT NOT NULL,
        day INTEGER NOT NULL,
        author TEXT NOT NULL,
        vouched INTEGER NOT NULL,
        total INTEGER NOT NULL,
        best INTEGER NOT NULL,
        last_us INTEGER NOT NULL,
        last_id TEXT NOT NULL,
        level0 INTEGER NOT NULL, level1 INTEGER NOT NULL, level2 INTEGER NOT NULL, level3 INTEGER NOT NULL,
        level4 INTEGER NOT NULL, level5 INTEGER NOT NULL, level6 INTEGER NOT NULL, level7 INTEGER NOT NULL,
        level8 INTEGER NOT NULL, level9 INTEGER NOT NULL, level10 INTEGER NOT NULL, level11 INTEGER NOT NULL,
        level12 INTEGER NOT NULL, level13 INTEGER NOT NULL, level14 INTEGER NOT NULL, level15 INTEGER NOT NULL,
        level16 INTEGER NOT NULL, level17 INTEGER NOT NULL, level18 INTEGER NOT NULL, level19 INTEGER NOT NULL,
        PRIMARY KEY (project_id, scope, key, item, day, author)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tally_vouched ON tally (project_id, scope, item) WHERE scope IN ('works', 'avoid') AND vouched > 0;

    CREATE TABLE state (
        project_id TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (project_id, name)
    ) STRICT, WITHOUT ROWID;
    