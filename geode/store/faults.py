"""The database driver's errors, turned into ours in one place."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from geode.errors import GeodeError, StorageBusyError, StorageFullError, StoreError

_FULL = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def store_error_of(error: BaseException) -> BaseException:
    """Our error for a driver's; what a unit's own code raised stays as it is."""
    if isinstance(error, GeodeError):
        return error
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.Error):
        return _error_around(error)
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in _FULL:
        ours: StoreError = StorageFullError(
            f"The disk refused the write ({cause}); free some space and it goes on by itself."
        )
    elif code in _BUSY:
        ours = StorageBusyError(f"Another process holds the database ({cause}); it is tried again.")
    else:
        ours = StoreError(f"The database refused the statement: {cause}")
    ours.__cause__ = error
    return ours


def _error_around(error: BaseException) -> BaseException:
    if isinstance(error, PoolTimeoutError):
        ours: StoreError = StorageBusyError("Every reader of the database is busy; try again.")
    elif isinstance(error, SQLAlchemyError):
        ours = StoreError(f"The database could not be used: {error}")
    elif isinstance(error, Exception):
        return error
    else:
        # Neither the writer's thread nor who waits for it may end because of one unit.
        ours = StoreError(f"A write ended with {type(error).__name__}; nothing of it is stored.")
    ours.__cause__ = error
    return ours
