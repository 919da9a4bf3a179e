-- The server's own text search as an alternative to BM25, over the terms of the same analyzer.
ALTER TABLE documents ADD COLUMN lexemes tsvector;
CREATE INDEX documents_lexemes ON documents USING gin (lexemes);

-- The dimension for which an index of near vectors was made; small corpora are scanned instead.
ALTER TABLE state ADD COLUMN near integer;
