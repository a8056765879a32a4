-- Runs, their logs, and everything that is written in the same transaction as an event.
-- Times are milliseconds. Digests are 32 raw bytes where they have their usual form, else text.

CREATE TABLE migration (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- The serialization point of a run. `root` is the row of the tree's first run, which owns the pool.
CREATE TABLE run (
    id            INTEGER PRIMARY KEY,
    run_id        TEXT NOT NULL UNIQUE,
    root          INTEGER NOT NULL REFERENCES run (id),
    parent        TEXT,
    tenant        TEXT NOT NULL,
    environment   TEXT NOT NULL,
    contract_name TEXT NOT NULL,
    contract_hash TEXT NOT NULL,
    loop          TEXT NOT NULL,
    documents     ANY NOT NULL,
    started_at    INTEGER NOT NULL,
    phase         TEXT NOT NULL,
    stop_reason   TEXT,
    epoch         INTEGER NOT NULL,
    owner         TEXT,
    lease_boot    TEXT,
    lease_until   INTEGER NOT NULL,
    dispatch_seq  INTEGER NOT NULL,
    head_seq      INTEGER NOT NULL,
    head_hash     BLOB NOT NULL,
    cancel_by     TEXT,
    cancel_reason TEXT,
    cancel_at     INTEGER,
    wake_at       INTEGER,
    waiting_for   TEXT,
    ended_at      INTEGER,
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX run_parent ON run (parent) WHERE parent IS NOT NULL;

-- Used (spent plus reserved) and limits of a tree of runs. Money is decimal text.
CREATE TABLE pool (
    id             INTEGER PRIMARY KEY REFERENCES run (id),
    steps          INTEGER NOT NULL,
    tool_calls     INTEGER NOT NULL,
    tokens         INTEGER NOT NULL,
    cost_usd       TEXT NOT NULL,
    steps_max      INTEGER NOT NULL,
    tool_calls_max INTEGER NOT NULL,
    tokens_max     INTEGER NOT NULL,
    cost_usd_max   TEXT NOT NULL
) STRICT;

-- The log. `id` is the run's row number and the position: run << 32 | seq, so that a run's log lies
-- together and appends fill pages. `hash` links each event to the one before it; `mac` (128 bits)
-- authenticates the hash with the key whose id is `key_id`.
CREATE TABLE event (
    id     INTEGER PRIMARY KEY,
    epoch  INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    body   BLOB NOT NULL,
    salt   BLOB NOT NULL,
    hash   BLOB NOT NULL,
    key_id BLOB NOT NULL,
    mac    BLOB NOT NULL
) STRICT;

-- Requests of people and other processes to a run; `mac` authenticates each for its run.
CREATE TABLE inbox (
    post_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    run       INTEGER NOT NULL REFERENCES run (id),
    kind      TEXT NOT NULL,
    body      TEXT NOT NULL,
    posted_at INTEGER NOT NULL,
    key_id    BLOB NOT NULL,
    mac       BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_run ON inbox (run);

-- One effect and where it stands. Its result is in the event `result_seq` of its run.
CREATE TABLE intent (
    tenant      TEXT NOT NULL,
    base        ANY NOT NULL,
    version     INTEGER NOT NULL,
    key         ANY NOT NULL,
    status      TEXT NOT NULL,
    run         INTEGER NOT NULL REFERENCES run (id),
    args_digest ANY NOT NULL,
    attempts    INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    result_seq  INTEGER,
    PRIMARY KEY (tenant, base, version)
) STRICT, WITHOUT ROWID;

-- Requests to people. Consumed at most once, and only with the same binding.
CREATE TABLE approval (
    id            INTEGER PRIMARY KEY,
    request_id    TEXT NOT NULL UNIQUE,
    run           INTEGER NOT NULL REFERENCES run (id),
    tool          TEXT NOT NULL,
    status        TEXT NOT NULL,
    binding       TEXT NOT NULL,
    step          INTEGER NOT NULL,
    place         INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    nonce         TEXT NOT NULL,
    decided_by    TEXT NOT NULL,
    requested_seq INTEGER NOT NULL
) STRICT;
CREATE INDEX approval_run ON approval (run);
CREATE INDEX approval_open ON approval (status) WHERE status = 'open';

-- The newest snapshot of a run's state, derived from its log.
CREATE TABLE snapshot (
    run       INTEGER PRIMARY KEY REFERENCES run (id),
    seq       INTEGER NOT NULL,
    head_hash BLOB NOT NULL,
    body      BLOB NOT NULL,
    key_id    BLOB NOT NULL,
    mac       BLOB NOT NULL
) STRICT;

-- Bytes by digest.
CREATE TABLE artifact (
    digest ANY NOT NULL PRIMARY KEY,
    body   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Kill switches.
CREATE TABLE control (
    scope   TEXT NOT NULL PRIMARY KEY,
    held_by TEXT NOT NULL,
    why     TEXT NOT NULL,
    since   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Late answers of ended runs: the first one per attempt.
CREATE TABLE postscript (
    run     INTEGER NOT NULL REFERENCES run (id),
    attempt TEXT NOT NULL,
    at      INTEGER NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (run, attempt)
) STRICT, WITHOUT ROWID;

-- What same-database tools write, with the event that tells of it.
CREATE TABLE outbox (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    topic  TEXT NOT NULL,
    body   TEXT NOT NULL,
    run    INTEGER NOT NULL REFERENCES run (id),
    seq    INTEGER NOT NULL
) STRICT;

CREATE TABLE ledger (
    tenant TEXT NOT NULL,
    book   TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    run    INTEGER NOT NULL REFERENCES run (id),
    seq    INTEGER NOT NULL,
    PRIMARY KEY (tenant, book, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE reference (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    run    INTEGER NOT NULL REFERENCES run (id),
    seq    INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
