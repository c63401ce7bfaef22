"""The end of a process at a named point, as code of the same process sees it."""

from __future__ import annotations


class DeadError(BaseException):
    """The process is gone: no boundary may see it."""


class DiesAt:
    """Ends what is under way at a named point, once."""

    def __init__(self, name: str, nth: int = 1) -> None:
        self._name, self._nth, self.is_over = name, nth, False

    def hit(self, name: str) -> None:
        """Raise when the point is passed for the nth time."""
        if name == self._name and not self.is_over:
            self._nth -= 1
            if self._nth == 0:
                self.is_over = True
                raise DeadError
