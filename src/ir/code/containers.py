"""Collections in every language: what their methods give, and which types hold elements or values."""

from __future__ import annotations

__all__ = ["EACH", "GIVES", "OF_ELEMENTS", "OF_VALUES"]

_AN_ELEMENT = """
    First FirstOrDefault Last LastOrDefault Single SingleOrDefault at borrow borrow_mut expect find first
    get last lock next orElse orElseThrow peek poll pop popitem popleft read remove setdefault shift unwrap
    unwrap_or unwrap_or_default unwrap_or_else write
    """.split()  # noqa: SIM905
_ELEMENTS = """
    OrderBy Reverse Skip Take ToArray ToList Where as_mut as_ref clone cloned collect concat copy filter
    into_iter items iter iter_mut ok reverse skip slice sort stream take union values
    """.split()  # noqa: SIM905
#: What the methods of collections give.
GIVES = {**dict.fromkeys(_AN_ELEMENT, "gives"), **dict.fromkeys(_ELEMENTS, "gives-all")}
#: Methods of collections that give each element to a function.
EACH = frozenset(
    """
    All Any Count First FirstOrDefault ForEach GroupBy Last LastOrDefault Max Min OrderBy OrderByDescending
    Select SelectMany Single SingleOrDefault Sum ThenBy ToDictionary Where all allMatch and_then any
    anyMatch every filter filter_map find findIndex findLast find_map flatMap flat_map forEach for_each
    ifPresent inspect is_some_and map mapToInt mapToObj map_or max_by_key min_by_key noneMatch partition
    peek position removeIf retain skip_while some sort sort_by sort_by_key sorted take_while
    """.split()  # noqa: SIM905
)
#: Types whose first parameter is what they hold.
OF_ELEMENTS = frozenset(
    """
    AbstractSet Array ArrayList AsyncGenerator AsyncIterable AsyncIterator Collection Deque FrozenSet
    Generator HashSet ICollection IEnumerable IList IQueryable IReadOnlyCollection IReadOnlyList ISet
    Iterable Iterator LinkedList List MutableSequence MutableSet Optional Queue ReadonlyArray Sequence Set
    Stack Stream TreeSet Tuple deque frozenset list set tuple
    """.split()  # noqa: SIM905
)
#: Types whose last parameter is what they hold.
OF_VALUES = frozenset(
    """
    DefaultDict Dict Dictionary HashMap IDictionary Map Mapping MutableMapping OrderedDict ReadonlyMap
    Record TreeMap defaultdict dict
    """.split()  # noqa: SIM905
)
