"""What does the operating system do in a way of its own: locks, durability, open files, processes.

The only room that asks which system it is. :mod:`~ir.system.posix` is the way of Linux, :mod:`~ir.system.macos` and
:mod:`~ir.system.windows` say where those differ. All of them offer the same names, and the rest of ``ir`` takes them
from here.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from ir.system.windows import (
        OPEN_FILES_CAN_MOVE,
        PRIVATE_SOCKETS,
        SCHEDULER,
        exit_code_of,
        has_news,
        is_own,
        is_record_locked,
        is_running,
        let_go,
        lower_priority,
        open_folder,
        open_to_read,
        peer_user,
        physical_cores,
        private_socket,
        replace,
        settings_folder,
        start_apart,
        step_back,
        sync_file,
        sync_folder,
        this_user,
        try_lock,
        write_at_start,
    )
elif sys.platform == "darwin":
    from ir.system.macos import SCHEDULER, physical_cores, settings_folder, sync_file, sync_folder
    from ir.system.posix import (
        OPEN_FILES_CAN_MOVE,
        PRIVATE_SOCKETS,
        exit_code_of,
        has_news,
        is_own,
        is_record_locked,
        is_running,
        let_go,
        lower_priority,
        open_folder,
        open_to_read,
        peer_user,
        private_socket,
        replace,
        start_apart,
        step_back,
        this_user,
        try_lock,
        write_at_start,
    )
else:
    from ir.system.posix import (
        OPEN_FILES_CAN_MOVE,
        PRIVATE_SOCKETS,
        SCHEDULER,
        exit_code_of,
        has_news,
        is_own,
        is_record_locked,
        is_running,
        let_go,
        lower_priority,
        open_folder,
        open_to_read,
        peer_user,
        physical_cores,
        private_socket,
        replace,
        settings_folder,
        start_apart,
        step_back,
        sync_file,
        sync_folder,
        this_user,
        try_lock,
        write_at_start,
    )

__all__ = [
    "OPEN_FILES_CAN_MOVE",
    "PRIVATE_SOCKETS",
    "SCHEDULER",
    "exit_code_of",
    "has_news",
    "is_own",
    "is_record_locked",
    "is_running",
    "let_go",
    "lower_priority",
    "open_folder",
    "open_to_read",
    "peer_user",
    "physical_cores",
    "private_socket",
    "replace",
    "settings_folder",
    "start_apart",
    "step_back",
    "sync_file",
    "sync_folder",
    "this_user",
    "try_lock",
    "write_at_start",
]
