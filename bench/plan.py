"""How large a run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Sizes and counts of a run. The full ones are those that the requirements name."""

    quick: bool = False
    reference: tuple[int, ...] = (10_000, 50_000)
    raw: tuple[int, ...] = (10_000, 100_000)
    peers: tuple[int, ...] = (10_000, 100_000)
    scale: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    queries: int = 400
    slow_queries: int = 40
    builds: int = 3
    reopens: int = 5
    starts: int = 15
    #: Peers that take minutes to open 100,000 texts run there only when asked for.
    slow_peers: bool = False


FULL = Plan()
QUICK = Plan(
    quick=True,
    reference=(1_000,),
    raw=(4_000,),
    peers=(1_000,),
    scale=(1_000, 4_000),
    queries=60,
    slow_queries=10,
    builds=1,
    reopens=1,
    starts=3,
)
