"""A small MCP server on standard input and output, which does what its first argument says."""

import json
import os
import sys
import time


def main(way: str) -> None:
    if way == "dies":
        print("no such model\nset IR_KEY=" + "ghp_" + "a1B2" * 9, file=sys.stderr)
        sys.exit(3)
    if way == "silent":
        time.sleep(60)
    if way == "chatty":
        print("welcome!", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer(message, way)


def answer(message: dict, way: str) -> None:
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize" and way == "refuses":
        reply["error"] = {"code": -32602, "message": "that version is too old"}
    elif message["method"] == "initialize":
        about = {"name": "stand-in", "version": os.environ.get("STAND_IN_VERSION", "1.0")}
        reply["result"] = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": about,
        }
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}), flush=True)
    elif message["method"] == "tools/list":
        first = not message.get("params", {}).get("cursor")
        tools = ["search"] if first else ["get"]
        reply["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
        if first:
            reply["result"]["nextCursor"] = "2"
    elif message["method"] == "tools/call":
        said = f"{message['params']['name']}: {json.dumps(message['params']['arguments'])}"
        reply["result"] = {"content": [{"type": "text", "text": said}]}
    elif message["method"] == "ping":
        reply["result"] = {}
    else:
        reply["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "well")
