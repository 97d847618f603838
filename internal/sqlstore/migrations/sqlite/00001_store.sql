-- +goose Up
CREATE TABLE runs (
    key    INTEGER PRIMARY KEY,
    run    TEXT    NOT NULL UNIQUE,
    count  INTEGER NOT NULL,
    last   BLOB    NOT NULL,
    sealed INTEGER NOT NULL,
    opened TEXT    NOT NULL,
    ended  TEXT    NOT NULL,
    token  INTEGER NOT NULL,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
);

-- One row holds what one transaction stored: entries and chunks that are not settled yet.
CREATE TABLE journal (
    seq  INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- One row holds consecutive entries of one run; place = run key * 2^31 + number of the first.
CREATE TABLE segments (
    place INTEGER PRIMARY KEY,
    data  BLOB NOT NULL
);

CREATE TABLE statements (
    key      INTEGER PRIMARY KEY,
    run      TEXT    NOT NULL,
    type     TEXT    NOT NULL,
    count    INTEGER NOT NULL,
    envelope BLOB    NOT NULL
);

CREATE INDEX statements_by_run ON statements (run, type, count);

CREATE TABLE scopes (
    key    INTEGER PRIMARY KEY AUTOINCREMENT,
    scope  TEXT NOT NULL UNIQUE,
    secret BLOB NOT NULL
);

-- One row holds the bytes of chunks of one scope, one behind the other.
CREATE TABLE packs (
    key   INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL,
    data  BLOB    NOT NULL
);

CREATE INDEX packs_by_scope ON packs (scope);

CREATE TABLE chunks (
    scope INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    pack  INTEGER NOT NULL,
    start INTEGER NOT NULL,
    size  INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE chunks;
DROP TABLE packs;
DROP TABLE scopes;
DROP TABLE statements;
DROP TABLE segments;
DROP TABLE journal;
DROP TABLE runs;
