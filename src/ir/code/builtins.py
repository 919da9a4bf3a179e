"""Names that a language brings by itself: what they run is outside of every corpus."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COMMON", "CSHARP_NAMES", "GO_NAMES", "JAVA_NAMES", "METHODS", "RUST_NAMES", "SCRIPT_NAMES"]

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

#: Methods that types outside of any corpus have in many languages: such a name says little of what is called.
COMMON = frozenset(
    """
    Add Close Contains Count Dispose Equals Error Get Len Read Remove Set String ToString Unwrap Write add
    append apply as_str bind call catch clear clone close cmp contains copy count decode default encode eq
    equals exec extend filter find fmt forEach format from get hashCode index insert into isEmpty is_empty
    items iter iterator join keys len length map match new next open pop push put read remove replace run
    send set size slice sort split start stop strip test then toString to_string unwrap update values write
    """.split()  # noqa: SIM905
)

#: The methods that the types a language brings have: such a name does not say whose method is called.
METHODS: Mapping[str, frozenset[str]] = {
    "python": frozenset(
        """
        absolute accept acquire add addHandler add_argument add_done_callback add_note append appendleft
        as_integer_ratio as_posix as_uri astimezone bind bit_count bit_length cancel cancelled capitalize
        casefold center chmod clear close combine commit communicate conjugate connect connect_ex copy count
        critical ctime cursor cwd date debug decode deleter detach difference difference_update discard done
        dst dup empty encode endswith error exception execute exists expand expandtabs expanduser extend
        extendleft fetchall fetchmany fetchone fileno find findall finditer flush format format_map from_bytes
        fromhex fromisocalendar fromisoformat fromkeys fromordinal fromtimestamp full fullmatch get getName
        get_inheritable get_nowait getbuffer getpeername getsockname getsockopt getter gettimeout getvalue
        glob group groupdict groups hardlink_to hex index info insert intersection intersection_update
        isDaemon isSet is_absolute is_alive is_block_device is_char_device is_dir is_fifo is_file is_integer
        is_mount is_relative_to is_set is_socket is_symlink isalnum isalpha isascii isatty isdecimal isdigit
        isdisjoint isidentifier islower isnumeric isocalendar isoformat isoweekday isprintable isspace
        issubset issuperset istitle isupper items iterdir join joinpath json keys kill listen ljust locked log
        lower lstat lstrip makefile maketrans match mkdir most_common notify notifyAll notify_all now open
        owner parse_args partition poll pop popitem popleft put put_nowait qsize raise_for_status read read1
        read_bytes read_text readable readinto readinto1 readline readlines readlink reconfigure recv
        recv_into recvfrom recvfrom_into recvmsg recvmsg_into relative_to release remove removeprefix
        removesuffix rename replace resolve result reverse rfind rglob rindex rjust rmdir rollback rotate
        rpartition rsplit rstrip run running samefile search seek seekable send send_signal sendall sendfile
        sendmsg sendto set setDaemon setLevel setName set_exception set_inheritable set_result setblocking
        setdefault setsockopt setter settimeout shutdown sort span split splitlines start startswith stat
        strftime strip strptime sub submit subn subtract swapcase symlink_to symmetric_difference
        symmetric_difference_update task_done tell terminate throw time timestamp timetuple timetz title
        to_bytes today toordinal total_seconds touch translate truncate tzname union unlink update upper
        utcfromtimestamp utcnow utcoffset utctimetuple values wait wait_for warning weekday with_name
        with_stem with_suffix with_traceback writable write write_bytes write_text writelines zfill
        """.split()  # noqa: SIM905
    ),
    "javascript": frozenset(
        """
        abort add addEventListener addListener anchor append appendChild apply arguments arrayBuffer
        asIndexedPairs at big bind blink blob blur body bodyUsed bold buffer byteLength byteOffset bytes call
        caller catch charAt charCodeAt clear click clone cloneNode closest codePointAt compile compose concat
        contains copyWithin cork debug delete description destroy dispatchEvent drop emit end endsWith entries
        error eventNames every exec fill filter finally find findIndex findLast findLastIndex fixed flat
        flatMap focus fontcolor fontsize forEach formData get getAll getAttribute getBoundingClientRect
        getDate getDay getElementById getFullYear getHours getMaxListeners getMilliseconds getMinutes getMonth
        getSeconds getSetCookie getTime getTimezoneOffset getUTCDate getUTCDay getUTCFullYear getUTCHours
        getUTCMilliseconds getUTCMinutes getUTCMonth getUTCSeconds getYear has hasAttribute hasOwnProperty
        headers includes indexOf info insertBefore isPaused isPrototypeOf isWellFormed italics iterator join
        json keys lastIndexOf length link listen listenerCount listeners localeCompare log map match matchAll
        matches next normalize now observe off ok on once padEnd padStart pathname pause pipe pop post
        prependListener prependOnceListener preventDefault propertyIsEnumerable push put querySelector
        querySelectorAll rawListeners read readableAborted readableDidRead readableFlowing
        readableHighWaterMark readableLength redirected reduce reduceRight reject remove removeAllListeners
        removeAttribute removeChild removeEventListener removeListener render repeat replace replaceAll
        replaceWith resolve resume reverse search send set setAttribute setDate setDefaultEncoding setEncoding
        setFullYear setHours setMaxListeners setMilliseconds setMinutes setMonth setSeconds setState setTime
        setUTCDate setUTCFullYear setUTCHours setUTCMilliseconds setUTCMinutes setUTCMonth setUTCSeconds
        setYear shift signal size slice small some sort splice split startsWith status statusText
        stopPropagation strike sub subarray substr substring sup take test text then toArray toBe toDateString
        toEqual toExponential toFixed toGMTString toHaveBeenCalled toISOString toJSON toLocaleDateString
        toLocaleLowerCase toLocaleString toLocaleTimeString toLocaleUpperCase toLowerCase toPrecision
        toReversed toSorted toSpliced toString toTimeString toUTCString toUpperCase toWellFormed trim trimEnd
        trimLeft trimRight trimStart type uncork unobserve unpipe unshift url use useState valueOf values warn
        with wrap writableAborted write
        """.split()  # noqa: SIM905
    ),
    "java": frozenset(
        """
        accept add addAll allMatch andThen anyMatch append apply asList available await build cancel charAt
        clear clone close collect compare compareTo compute computeIfAbsent contains containsKey containsValue
        copyOf countDown debug deleteOnExit distinct endsWith entrySet equals error execute exists filter find
        findAny findFirst flatMap flush forEach forName format get getBytes getCause getClass
        getDeclaringClass getEntry getKey getMessage getName getOrDefault getPath getStackTrace getTime
        getType getValue group hasMoreElements hasNext hashCode ifPresent indexOf info init initCause insert
        intValue interrupt invoke isAbsolute isAfter isAlive isBefore isBlank isDirectory isDone isEmpty
        isFile isInstance isInterrupted isPresent iterator join keySet lastIndexOf length limit lines list
        listFiles listIterator lock longValue map mapToInt mapToObj mark matcher matches max merge min mkdirs
        name newInstance next nextElement noneMatch notify notifyAll of offer orElse orElseGet orElseThrow
        ordinal parallelStream parse peek plus poll pop print printf println push put putAll putIfAbsent read
        readLine reduce remove removeAll removeIf replace replaceAll reset resolve reverse run search set
        setAccessible setLength size skip sleep sort sorted split spliterator start startsWith stream strip
        subList submit substring sum supply take test then toArray toCharArray toList toLowerCase toMap toPath
        toSet toString toUpperCase trace trim unlock valueOf values wait warn write writeTo
        """.split()  # noqa: SIM905
    ),
    "csharp": frozenset(
        """
        Add AddRange Aggregate All Any Append AppendFormat AppendLine ArgumentList AsEnumerable AsReadOnly
        AsSpan AsTask Average BeginInvoke Cancel Cast Clear Clone Close CompareTo Concat ConfigureAwait
        Contains ContainsKey ContinueWith CopyTo CopyToAsync Count CreateInstance Dequeue Dispose DisposeAsync
        Distinct Elapsed ElementAt EndsWith Enqueue EnumerateArray Equals Except Exists Find FindAll FindIndex
        First FirstOrDefault Flush FlushAsync ForEach Format Get GetAsync GetAwaiter GetBytes
        GetCustomAttribute GetEnumerator GetHashCode GetLength GetMethod GetMethods GetName GetProperties
        GetProperty GetResult GetService GetString GetType GetValue GroupBy HasFlag IndexOf Insert Intersect
        Invoke IsAssignableFrom IsDefined Join Last LastIndexOf LastOrDefault Log LogDebug LogError
        LogInformation LogWarning Match Max Min MoveNext Next OfType Open OrderBy OrderByDescending PadLeft
        PadRight Parse Peek Pop Post Push Read ReadAsync ReadByte ReadLine ReadToEnd ReadToEndAsync Release
        Remove RemoveAll RemoveAt Replace Reset Reverse Run Select SelectMany Send SequenceEqual Set SetResult
        SetValue Single SingleOrDefault Skip SkipWhile Sort Split Start StartsWith Stop Substring Sum Take
        TakeWhile ThenBy ToArray ToCharArray ToDictionary ToHashSet ToList ToLookup ToLower ToLowerInvariant
        ToString ToUpper ToUpperInvariant Trim TrimEnd TrimStart TryAdd TryGetValue TryParse Union Update Wait
        WaitAsync WaitOne Where With Write WriteAsync WriteByte WriteLine WriteLineAsync Zip
        """.split()  # noqa: SIM905
    ),
    "go": frozenset(
        """
        Abs Accept Add Addr After Append Before Bytes Call Cap Close Copy Day Deadline Decode Del Disconnect
        Do Done Each Elem Encode Err Error Errorf Exec Exists Fail FailNow Fatal Fatalf Field Find Float64
        Flush Format Get Grow Handle HandleFunc Has Hash Header Helper Hour Index Init Int Interface IsNil
        IsZero Kind Len Less Listen Load Lock Log Logf Mark Marshal MarshalJSON Match MatchString Method
        Milliseconds Minute Month Name Next Now NumField Observe Open Parse Path Peek Pop Print Printf Println
        Push Put Query QueryRow RLock RUnlock Read ReadAll ReadByte ReadFrom ReadString Receive Recv Release
        Remove Reset Round Run Scan Seconds Seek Send ServeHTTP Set Size Skip Sort Start Stat Status Stop
        Store String Sub Sum Swap Sync Test Text Time Truncate Type Unix Unlock UnmarshalJSON Unwrap Update
        Validate Value Values Wait Warn Write WriteByte WriteHeader WriteRune WriteString WriteTo Year
        """.split()  # noqa: SIM905
    ),
    "rust": frozenset(
        """
        abs all and and_then any append as_bytes as_deref as_mut as_mut_slice as_ptr as_ref as_slice as_str
        await binary_search borrow borrow_mut bytes capacity chain chars checked_add checked_sub chunks clear
        clone clone_from cloned cmp collect concat contains contains_key copied copy_from_slice count cycle
        dedup deref deref_mut drain drop ends_with entry enumerate eq err exists expect extend
        extend_from_slice fill filter filter_map find find_map first flat_map flatten flush fmt fold for_each
        from from_str ge get get_mut get_or_insert_with gt hash insert insert_str inspect into
        into_boxed_slice into_bytes into_inner into_iter into_string is_ascii is_dir is_empty is_err is_file
        is_none is_ok is_some is_some_and iter iter_mut join keys kind last le len lines lock log lt map
        map_err map_or map_or_else matches max max_by max_by_key min min_by min_by_key name ne next next_back
        nth ok ok_or ok_or_else or or_default or_else or_insert or_insert_with parse partial_cmp partition
        path peek peekable pop position pow product push push_back push_front push_str put read read_exact
        read_line read_to_end read_to_string recv remove rename repeat replace reserve resize retain rev
        reverse rfind rposition rsplit run saturating_sub send set skip skip_while slice sort sort_by
        sort_by_key sort_unstable spawn splice split split_at split_off split_once split_whitespace start
        starts_with status step_by strip_prefix strip_suffix sub sum swap take take_while test to_bytes
        to_lowercase to_owned to_str to_string to_string_lossy to_uppercase to_vec trim trim_end trim_start
        truncate try_from try_into try_lock unwrap unwrap_err unwrap_or unwrap_or_default unwrap_or_else unzip
        values values_mut wait windows with_capacity wrapping_add write write_all write_fmt write_str zip
        """.split()  # noqa: SIM905
    ),
}
