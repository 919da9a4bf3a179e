"""How do agents come to know ``ir``? The settings of their clients, edited with care, and a skill that says how to
search."""

from __future__ import annotations

from ir.clients.catalog import CLIENTS, SERVER, Client
from ir.clients.handshake import Handshake, HandshakeFailed, shake_hands
from ir.clients.launch import Launch, launch
from ir.clients.setup import Change, Setup, check, clients_with_entries
from ir.clients.skill import plugin_folder, skill_text, write_plugin

__all__ = [
    "CLIENTS",
    "SERVER",
    "Change",
    "Client",
    "Handshake",
    "HandshakeFailed",
    "Launch",
    "Setup",
    "check",
    "clients_with_entries",
    "launch",
    "plugin_folder",
    "shake_hands",
    "skill_text",
    "write_plugin",
]
