"""Who may ask, and how much?"""

from __future__ import annotations

from ir.access.access import Access
from ir.access.opening import access_file, open_access
from ir.access.values import SCOPES, Allowance, Quota, Token, Usage, Workspace

__all__ = ["SCOPES", "Access", "Allowance", "Quota", "Token", "Usage", "Workspace", "access_file", "open_access"]
