"""The store for a place: a file, or a database."""

from __future__ import annotations

from hardwon.errors import MissingExtraError
from hardwon.store.contract import Store
from hardwon.store.place import Place
from hardwon.store.sqlite import SqliteStore


def open_store(found: Place, busy_timeout_ms: int | None = None) -> Store:
    """Opens what is there; a file that is not there yet is made."""
    if found.path is not None:
        return SqliteStore(found.path, busy_timeout_ms=busy_timeout_ms)
    assert found.url is not None  # noqa: S101  # for type checkers: a place is one of the two
    try:
        import psycopg  # noqa: F401  # told here: what is missing of our own is another error
    except ImportError as error:
        said = f"{type(error).__name__}: {error}"
        raise MissingExtraError(
            f"psycopg cannot be imported ({said}); install it with: pip install 'hardwon[postgres]'"
        ) from None
    from hardwon.store.postgres.store import PostgresStore

    return PostgresStore(found.url, busy_timeout_ms=busy_timeout_ms)
