
    CREATE INDEX record_helped ON record (project_id, status, helped, at_us, id) WHERE helped > 0;
    CREATE INDEX event_stale ON event (project_id, at_us, id) WHERE kind = 'stale';
    