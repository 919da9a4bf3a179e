"""The tables that came with format 2: nodes and edges, names, and vectors that came after their records."""

from __future__ import annotations

__all__ = ["GRAPH"]

GRAPH = """
CREATE TABLE late (space INTEGER, number INTEGER, PRIMARY KEY (space, number)) WITHOUT ROWID;
CREATE TABLE symbols (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE nodes (id TEXT PRIMARY KEY, type TEXT NOT NULL, properties TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edges (
    source TEXT NOT NULL,
    place INTEGER NOT NULL,
    type TEXT NOT NULL,
    target TEXT NOT NULL,
    corpus TEXT,
    properties TEXT NOT NULL,
    PRIMARY KEY (source, place)
) WITHOUT ROWID;
CREATE INDEX edges_into ON edges (target, type, source, place, corpus, properties);
"""
