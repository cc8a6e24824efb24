"""The functions and types of SQLAlchemy that statements are made of, imported on first use.

A module that imports them from here can be imported without SQLAlchemy (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import JSON as JSON
    from sqlalchemy import Boolean as Boolean
    from sqlalchemy import Float as Float
    from sqlalchemy import Integer as Integer
    from sqlalchemy import LargeBinary as LargeBinary
    from sqlalchemy import Text as Text
    from sqlalchemy import bindparam as bindparam
    from sqlalchemy import delete as delete
    from sqlalchemy import func as func
    from sqlalchemy import insert as insert
    from sqlalchemy import inspect as inspect
    from sqlalchemy import literal as literal
    from sqlalchemy import select as select
    from sqlalchemy import text as text
    from sqlalchemy import update as update


def __getattr__(name: str) -> Any:
    """Import a name of SQLAlchemy; it stays."""
    import sqlalchemy

    found = globals()[name] = getattr(sqlalchemy, name)
    return found
