"""The page: what people see of a served store. It and the HTML report are one design."""

from __future__ import annotations

from simstore.server.page.routes import router

__all__ = ["router"]
