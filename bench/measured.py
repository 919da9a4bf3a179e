"""Run a command and write what it took: ``python -S measured.py OUT.json SECONDS COMMAND…``.

A process of its own, because what a process used most, as the system tells it, is at least what its parent used then;
this one imports nothing large. CPU time counts children that were waited for.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    out, limit, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, setpgroup=0)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    # Linux counts in kilobytes, macOS in bytes.
    peak = used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak_mb": peak, "code": code}, file)


if __name__ == "__main__":
    main()
