-- Nodes that were declared. Ids may be longer than an index entry, so indexes hold their beginnings, which are in the
-- same order; the order itself is that of code points, as in Python. The other ends of edges are looked up by hash.
CREATE TABLE nodes (id text COLLATE "C" NOT NULL, type text NOT NULL, properties json);
CREATE INDEX nodes_id ON nodes (left(id, 300));
CREATE INDEX nodes_hash ON nodes USING hash (id);

-- Edges in the order in which their source gave them. "corpus" is that of the target, where it is another one.
CREATE TABLE edges (
    place integer NOT NULL,
    source text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    corpus text,
    properties json
);
INSERT INTO edges (place, source, type, target, corpus)
SELECT row_number() OVER (PARTITION BY l.key ORDER BY t.at, e.at) - 1, l.key, t.type,
       CASE json_typeof(e.target) WHEN 'array' THEN e.target ->> 1 ELSE e.target #>> '{}' END,
       CASE json_typeof(e.target) WHEN 'array' THEN e.target ->> 0 END
FROM links l, json_each(l.value) WITH ORDINALITY AS t (type, targets, at),
     json_array_elements(t.targets) WITH ORDINALITY AS e (target, at);
DROP TABLE links;
CREATE INDEX edges_out ON edges (left(source, 300), place);
CREATE INDEX edges_in ON edges (left(target, 300), left(type, 50), left(source, 300));

-- Whether some edge's type is longer than its index knows, and the sums of what the corpus holds.
ALTER TABLE state ADD COLUMN long_types boolean NOT NULL DEFAULT false, ADD COLUMN content text;
UPDATE state SET long_types = EXISTS (SELECT FROM edges WHERE char_length(type) > 50);

-- The other end of an edge may be an artifact, which the ledger knows.
CREATE INDEX ledger_artifact ON ledger ((md5(value ->> 'artifact_id')::uuid));

-- The names that items define and use.
CREATE TABLE symbols (key text NOT NULL, value json NOT NULL);
CREATE UNIQUE INDEX symbols_key ON symbols (md5(key));

-- Named spaces of vectors. That of number 0 lies in the records, every other in a table of its own, made with the first
-- of its vectors; a number is never given out twice.
CREATE SEQUENCE spaces START 1;
ALTER TABLE records ALTER COLUMN vector DROP NOT NULL;
ALTER TABLE state ADD COLUMN default_space text NOT NULL DEFAULT 'main', ADD COLUMN spaces json;
UPDATE state SET spaces = json_build_object(
    'main', json_build_object('number', 0, 'dim', dim, 'near', near, 'held', records));
ALTER TABLE state DROP COLUMN dim, DROP COLUMN near, ALTER COLUMN spaces SET NOT NULL;
