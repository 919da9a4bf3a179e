"""What may be done on the way to an answer: for whoever asks to say, not for what is asked."""

from __future__ import annotations

from dataclasses import dataclass

from ir.errors import InvalidInput

__all__ = ["AS_SET", "Policy"]


@dataclass(frozen=True)
class Policy:
    """What may be done before an answer. ``refresh``: look for changes; ``None`` is what the user has set.

    Where a better model has not read everything yet, ``wait`` answers when it has, and ``upgrade`` says whether to let
    it in the background.
    """

    refresh: bool | None = None
    wait: bool = False
    upgrade: bool | None = None

    def __post_init__(self) -> None:
        if self.wait and self.upgrade is False:
            raise InvalidInput(
                "There is nothing to wait for without an upgrade.", remedy="Give --wait or --no-upgrade."
            )


#: What holds where nobody says otherwise.
AS_SET = Policy()
