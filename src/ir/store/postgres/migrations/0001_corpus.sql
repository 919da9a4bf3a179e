-- One row: which version the corpus is in, and what is true of all of it.
CREATE TABLE state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    birth text NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    last_number bigint NOT NULL DEFAULT 0,
    records bigint NOT NULL DEFAULT 0,
    dim integer,
    config json
);

-- Not part of any transaction: the version of one that failed is never given out again.
CREATE SEQUENCE versions;

-- Ids may be longer than an index entry, so indexes hold their digests. "written" is the metadata as it was given,
-- where jsonb would give it back with its keys in another order or a number of another type.
CREATE TABLE records (
    number bigint PRIMARY KEY,
    surface_index bigint NOT NULL,
    id text NOT NULL,
    artifact_id text NOT NULL,
    kind text NOT NULL,
    metadata jsonb NOT NULL,
    written text,
    vector vector NOT NULL,
    text text NOT NULL
);
-- A scan of vectors that lie in the rows is several times as fast as one that looks each of them up elsewhere.
ALTER TABLE records ALTER COLUMN vector SET STORAGE PLAIN, ALTER COLUMN text SET STORAGE EXTERNAL;
ALTER TABLE records SET (toast_tuple_target = 4080);
CREATE UNIQUE INDEX records_id ON records (md5(id));
CREATE INDEX records_kind ON records (kind);
CREATE INDEX records_metadata ON records USING gin (metadata jsonb_path_ops);

CREATE TABLE ledger (key text NOT NULL, value json NOT NULL);
CREATE UNIQUE INDEX ledger_key ON ledger (md5(key));
CREATE TABLE links (key text NOT NULL, value json NOT NULL);
CREATE UNIQUE INDEX links_key ON links (md5(key));
CREATE TABLE calibration (key text NOT NULL, value json NOT NULL);
CREATE UNIQUE INDEX calibration_key ON calibration (md5(key));

INSERT INTO state (birth) VALUES (md5(random()::text || clock_timestamp()::text));
