"""100 million and a billion records, on paper: figures per record, measured at 100,000, multiplied."""

from __future__ import annotations

from bench.report import Report

PAPER = "100 million and 1 billion records, on paper"
SIZES = {"100 million": 10**8, "1 billion": 10**9}
GB = 10**9
NODE, FILLED = 256, 0.7
VECTOR = 384 * 4
#: HNSW with M = 16 keeps up to 2 × 16 links of 4 bytes for each record.
LINKS = 2 * 16 * 4
#: What DISKANN may keep in memory of a vector: a quarter of a byte for each dimension.
CODES = 384 // 4
PRICE = 4


def cell(report: Report, row: str, place: int = 1) -> float:
    """A figure out of a report's tables."""
    for table in report.tables:
        for cells in table.rows:
            if cells[0] == row:
                return float(cells[place].replace(",", ""))
    raise SystemExit(f"{report.part}: no figure for {row!r}; run its benchmark again.")


def gigabytes(records: int, each: float) -> str:
    return f"{records * each / GB:,.0f} GB"


def nodes(records: int, each: float) -> int:
    return -int(-records * each // (NODE * FILLED * GB))


def on_paper(postgres: Report, milvus: Report) -> str:
    """The section's text."""
    return "\n\n".join([_introduction(), *_milvus(milvus), *_postgres(postgres)])


def _introduction() -> str:
    return (
        "Nothing of this size was run. What was measured for one record, at 100,000 records of 54 words with 384-d "
        f"vectors, is multiplied. A node has {NODE} GB of memory, of which {FILLED:.0%} may be filled: "
        f"{NODE * FILLED:.0f} GB."
    )


def _milvus(report: Report) -> list[str]:
    memory = cell(report, "bytes of memory per record, after the searches")
    disk = cell(report, "bytes on disk per record")
    speed = cell(report, "records per second, words analysed and all indexed")
    flat = cell(report, "bare dense")
    graph = VECTOR + LINKS
    rows = [
        f"| {name} | {gigabytes(size, memory)} → {nodes(size, memory)} nodes | {gigabytes(size, graph)} → "
        f"{nodes(size, graph)} | {gigabytes(size, CODES)} → {nodes(size, CODES)} | {gigabytes(size, disk)} | "
        f"{size / speed / 86400:,.0f} days |"
        for name, size in SIZES.items()
    ]
    cost = [
        f"{name}: {size * each / GB / FILLED * PRICE:,.0f} dollars with {what}"
        for name, size in SIZES.items()
        for what, each in (("everything in memory", memory), ("`HNSW`", graph))
    ]
    return [
        f"**Milvus** (core in process, not a cluster). Measured: {memory:,.0f} bytes of memory and {disk:,.0f} of disk "
        f"per record, {speed:,.0f} records a second by one writer, {flat:.0f} ms for comparing 100,000 vectors.",
        "| records | all in memory, `FLAT` | vectors and links, `HNSW` | codes, `DISKANN` | disk | loading |\n"
        "|---|---|---|---|---|---|\n" + "\n".join(rows),
        f"The arithmetic: `FLAT` holds everything, {memory:,.0f} B. `HNSW` with M = 16 needs 384 × 4 + 2 × 16 × 4 = "
        f"{graph:,} B, texts and metadata staying on disk. `DISKANN` is taken to keep a quarter of a byte for each "
        f"dimension, {CODES} B, and pays with disk reads in every search. Which index: `FLAT` compares every vector, "
        f"{flat:.0f} ms × 1,000 = {flat:.0f} s for 100 million, and is right up to about a million records; then "
        "`HNSW`; `DISKANN` where memory is dearer than time. Recall of neither was measured: the core takes none of "
        "them. Disk is before a cluster's replicas and logs; a replaced record is there twice until `keep` is over.",
        "**Loading** is done by one writer by design, so that more nodes do not shorten it. At a billion records, "
        "split the corpus into several and search them together, each with a writer of its own; embedding is spread "
        "with Ray either way.",
        f"**Cost.** Memory decides: records × bytes / {FILLED} × a price for a GB and month. At an assumed {PRICE} "
        f"dollars: {'; '.join(cost)}. Put in your own price; a second replica of everything doubles it.",
    ]


def _postgres(report: Report) -> list[str]:
    near = cell(report, "bytes per record of the index of near vectors")
    rows = cell(report, "bytes per record of the records")
    words = cell(report, "bytes per record of the index of postings")
    disk = cell(report, "bytes on disk per record")
    speed = cell(report, "records per second, words analysed and all indexed")
    hot = near + rows + words
    most = int(NODE * FILLED * GB / hot / 10**6)
    return [
        f"**PostgreSQL** is one server. Measured: {disk:,.0f} bytes of disk per record, of which searches read the "
        f"index of near vectors ({near:,.0f}), the records ({rows:,.0f}) and the index of postings ({words:,.0f}), "
        f"together {hot:,.0f}. All of that in memory, a node of {NODE} GB holds {NODE * FILLED:.0f} GB / {hot:,.0f} B "
        f"= {most} million records. 100 million would be {gigabytes(10**8, hot)} of hot data and "
        f"{gigabytes(10**8, disk)} of disk; at "
        f"{speed:,.0f} records a second, {10**8 / speed / 86400:,.1f} days of loading. `vectors=half` takes "
        f"2 × 768 = 1,536 bytes off. A billion, {gigabytes(10**9, hot)}, is no size for one server.",
    ]
