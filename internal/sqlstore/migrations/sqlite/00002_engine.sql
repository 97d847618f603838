-- +goose Up
-- What the first entry of a run names; null: nobody has looked yet.
ALTER TABLE runs ADD COLUMN engine TEXT;

CREATE INDEX runs_by_engine ON runs (engine, run);

-- +goose Down
DROP INDEX runs_by_engine;
ALTER TABLE runs DROP COLUMN engine;
