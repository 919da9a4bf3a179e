"""Names that a language brings by itself: what a call of one of them runs is outside of every corpus."""

from __future__ import annotations

__all__ = ["CSHARP_NAMES", "GO_NAMES", "JAVA_NAMES", "RUST_NAMES", "SCRIPT_NAMES"]

SCRIPT_NAMES = frozenset(
    """
    AbortController AbortSignal Array ArrayBuffer BigInt Blob Boolean Buffer DataView Date Error EvalError
    Event EventTarget File FileReader Float32Array Float64Array FormData Function Headers Infinity
    Int16Array Int32Array Int8Array Intl JSON Map Math MutationObserver NaN Number Object Promise Proxy
    RangeError ReadableStream ReferenceError Reflect RegExp Request Response Set String Symbol SyntaxError
    TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array
    WeakMap WeakRef WeakSet WebSocket Worker XMLHttpRequest afterAll afterEach alert atob beforeAll
    beforeEach btoa clearImmediate clearInterval clearTimeout confirm console crypto decodeURI
    decodeURIComponent describe document encodeURI encodeURIComponent escape eval expect exports fetch
    global globalThis history isFinite isNaN it jest localStorage location module navigator parseFloat
    parseInt performance process queueMicrotask requestAnimationFrame require self sessionStorage
    setImmediate setInterval setTimeout structuredClone test undefined unescape vi window
    """.split()  # noqa: SIM905
)

JAVA_NAMES = frozenset(
    """
    AutoCloseable Boolean Byte CharSequence Character Class Cloneable Comparable Double Enum Error Exception
    Float IllegalArgumentException IllegalStateException IndexOutOfBoundsException Integer
    InterruptedException Iterable List Long Map Math NullPointerException Number Object Override Process
    ProcessBuilder Record Runnable RuntimeException Set Short String StringBuffer StringBuilder System
    Thread Throwable UnsupportedOperationException Void boolean byte char double float int long short void
    """.split()  # noqa: SIM905
)

CSHARP_NAMES = frozenset(
    """
    Action ArgumentException ArgumentNullException Array Attribute Boolean Char Console Convert DateTime
    Dictionary Double Enum Environment Exception Func Guid HashSet IEnumerable Int32 Int64
    InvalidOperationException List Math NotImplementedException Nullable Object Queue Stack String
    StringBuilder Task TimeSpan Tuple Type bool byte char decimal double dynamic float int long nameof
    object sbyte short string typeof uint ulong ushort void
    """.split()  # noqa: SIM905
)

GO_NAMES = frozenset(
    """
    any append bool byte cap clear close comparable complex complex128 complex64 copy delete dict error
    false float32 float64 imag int int16 int32 int64 int8 iota len list make max min new nil panic print
    println real recover rune string true uint uint16 uint32 uint64 uint8 uintptr
    """.split()  # noqa: SIM905
)

RUST_NAMES = frozenset(
    """
    Arc AsRef BTreeMap BTreeSet Box Clone Copy Debug Default Drop Eq Err Fn FnMut FnOnce From Hash HashMap
    HashSet Into IntoIterator Iterator None Ok Option Ord PartialEq PartialOrd Rc Result Send Sized Some
    String Sync ToString Vec bool char dict drop f32 f64 i128 i16 i32 i64 i8 isize list str u128 u16 u32 u64
    u8 usize
    """.split()  # noqa: SIM905
)
