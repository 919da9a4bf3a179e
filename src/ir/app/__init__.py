"""What can a user do? One typed function for each thing; command line, HTTP and MCP are derived from these.

>>> from ir.app import operations
>>> {"build", "search", "discover"} <= set(operations())
True
"""

from __future__ import annotations

from ir.app.context import Caller, Context
from ir.app.fields import Arg
from ir.app.operation import Operation, Value, find_operation, operation, operations

__all__ = ["Arg", "Caller", "Context", "Operation", "Value", "find_operation", "operation", "operations"]
