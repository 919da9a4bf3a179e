"""How do agents and other processes ask? The MCP server, and one warm daemon behind all clients.

    front      ``ir mcp`` on stdio: answers what it knows at once, hands the rest on
    http       ``ir mcp --http``: the official SDK's server, on loopback, with a token
    link       the way from a front to the daemon: finds it, starts it, sends again what a killed one left undone
    daemon     the process that stays: takes calls from all fronts over a private socket
    service    what is done with a call, in the daemon or, without one, in the front's own process

Nothing here is loaded by the library; :mod:`~ir.serve.front` needs the standard library alone.
"""
