-- BM25: which record holds which term how often. The analyzer is ours; the server only counts and adds up.
CREATE TABLE terms (
    number integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    term text COLLATE "C" NOT NULL UNIQUE,
    documents bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- length is the record's number of terms, rounded as one byte would keep it: scoring reads the index alone.
CREATE TABLE postings (
    term integer NOT NULL,
    number bigint NOT NULL,
    count integer NOT NULL,
    length integer NOT NULL
);
CREATE UNIQUE INDEX postings_term ON postings (term, number) INCLUDE (count, length);

-- What each record contributed, so that it can be taken out again.
CREATE TABLE documents (
    number bigint PRIMARY KEY,
    length bigint NOT NULL,
    terms integer[] NOT NULL
);

ALTER TABLE state
    ADD COLUMN lexical text NOT NULL DEFAULT 'none',
    ADD COLUMN analyzer text,
    ADD COLUMN words bigint NOT NULL DEFAULT 0,
    ADD COLUMN indexed bigint NOT NULL DEFAULT 0;
