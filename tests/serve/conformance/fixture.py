"""The server that the official conformance suite wants to meet, over the transport that `ir mcp --http` has.

Its tools, prompts and resources are those that the suite asks for by name; what is tested is the way to them. It runs
without a token, since the suite has none to give: ``python -m tests.serve.conformance.fixture PORT``.
"""

from __future__ import annotations

import hmac
import json
import sys
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ir.serve.http import listening, make_app, run

OWN = "io.modelcontextprotocol/"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT = types.TextContent(type="text", text="This is a simple text response for testing.")
IMAGE = types.ImageContent(type="image", data=PIXEL, mime_type="image/png")
AUDIO = types.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")


def embedded(uri: str) -> types.EmbeddedResource:
    held = types.TextResourceContents(uri=uri, mime_type="text/plain", text="This is an embedded resource content.")
    return types.EmbeddedResource(type="resource", resource=held)


def form(message: str, field: str, kind: str = "string") -> dict[str, Any]:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


NAME = form("What is your name?", "name")
ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
#: What tools and prompts want to know before they answer, round by round; with a state that is to come back unchanged.
ROUNDS: dict[str, list[dict[str, Any]]] = {
    "test_input_required_result_elicitation": [{"user_name": NAME}],
    "test_input_required_result_sampling": [{"capital_question": sample("What is the capital of France?")}],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [{"confirm": form("Please confirm", "ok", "boolean")}],
    "test_input_required_result_multiple_inputs": [
        {"user_name": NAME, "greeting": sample("Generate a greeting"), "client_roots": ROOTS}
    ],
    "test_input_required_result_multi_round": [
        {"step1": form("Step 1: What is your name?", "name")},
        {"step2": form("Step 2: What is your favorite color?", "color")},
    ],
    "test_input_required_result_tampered_state": [{"confirm": form("Please confirm", "ok", "boolean")}],
    "test_input_required_result_capabilities": [
        {"question": sample("What is the capital of France?"), "user_name": NAME}
    ],
    "test_input_required_result_prompt": [{"user_context": form("What context should the prompt use?", "context")}],
}
STATELESS = ("elicitation", "sampling", "list_roots", "capabilities", "prompt")
_WANTS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def state_of(name: str, number: int) -> str:
    return f"{number}:{hmac.new(b'only for tests', f'{name}{number}'.encode(), 'sha256').hexdigest()}"


def still_wanted(ctx: Any, params: Any) -> types.InputRequiredResult | None:
    """What has to be asked of the user before this can be answered, if anything."""
    rounds = ROUNDS[params.name]
    given = params.input_responses or {}
    keeps = not params.name.endswith(STATELESS)
    number = 0
    if params.request_state is not None and keeps:
        number = int(params.request_state.partition(":")[0]) if params.request_state[:1].isdigit() else -1
        if number not in range(len(rounds)) or params.request_state != state_of(params.name, number):
            raise MCPError(code=types.INVALID_PARAMS, message="The state was changed on its way.")
    if rounds[number].keys() <= given.keys():
        number += 1
    if number == len(rounds):
        return None
    asked = rounds[number]
    if params.name.endswith("capabilities"):
        declared = ((ctx.meta or {}) if isinstance(ctx.meta, dict) else {}).get(f"{OWN}clientCapabilities", {})
        asked = {name: one for name, one in asked.items() if _WANTS[one["method"]] in declared}
    held: dict[str, Any] = {"inputRequests": asked}
    return types.InputRequiredResult.model_validate(
        held | ({"requestState": state_of(params.name, number)} if keeps else {})
    )


def told_of(params: Any) -> types.TextContent:
    given = {
        name: one.model_dump(mode="json", exclude_none=True) for name, one in (params.input_responses or {}).items()
    }
    return types.TextContent(type="text", text=f"state-ok {json.dumps(given)}")


CONTENTS: dict[str, list[Any]] = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [embedded("test://embedded-resource")],
    "test_multiple_content_types": [TEXT, IMAGE, embedded("test://mixed-content-resource")],
    "test_tool_with_progress": [TEXT],
    "test_logging_tool": [TEXT],
    "test_streaming_elicitation": [TEXT],
}


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    names = [*CONTENTS, "test_error_handling", "test_missing_capability", *ROUNDS]
    names.remove("test_input_required_result_prompt")
    tools = [
        types.Tool(name=name, description=f"Conformance: {name}", input_schema={"type": "object"}) for name in names
    ]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult | types.InputRequiredResult:
    if params.name in ROUNDS:
        return still_wanted(ctx, params) or types.CallToolResult(content=[told_of(params)])
    if params.name == "test_missing_capability":
        wanted = {"requiredCapabilities": {"sampling": {}}}
        code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
        raise MCPError(code=code, message="This needs sampling.", data=wanted)
    if params.name == "test_error_handling":
        told = types.TextContent(type="text", text="This tool intentionally returns an error for testing")
        return types.CallToolResult(content=[told], is_error=True)
    if params.name == "test_tool_with_progress":
        for step in (0, 50, 100):
            await ctx.session.report_progress(step, 100, f"step {step}")
    if params.name not in CONTENTS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
    return types.CallToolResult(content=CONTENTS[params.name])


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    kinds = {"test://static-text": "text/plain", "test://static-binary": "image/png"}
    found = [types.Resource(uri=uri, name=uri, description=uri, mime_type=kind) for uri, kind in kinds.items()]
    return types.ListResourcesResult(resources=found)


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    held = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[held])


async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    held: types.TextResourceContents | types.BlobResourceContents
    if uri == "test://static-text":
        text = "This is the content of the static text resource."
        held = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    elif uri == "test://static-binary":
        held = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    elif uri.startswith("test://template/"):
        number = uri.split("/")[3]
        text = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        held = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    else:
        raise MCPError(code=types.INVALID_PARAMS, message="There is no such resource.", data={"uri": uri})
    return types.ReadResourceResult(contents=[held])


PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    def made(name: str, arguments: tuple[str, ...]) -> types.Prompt:
        wanted = [types.PromptArgument(name=one, description=one, required=True) for one in arguments]
        return types.Prompt(name=name, description=f"Conformance: {name}", arguments=wanted)

    return types.ListPromptsResult(prompts=[made(*one) for one in PROMPTS.items()])


async def get_prompt(
    ctx: Any, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name in ROUNDS:
        wanted = still_wanted(ctx, params)
        return wanted or types.GetPromptResult(messages=[types.PromptMessage(role="user", content=told_of(params))])
    given = params.arguments or {}
    text = types.TextContent(type="text", text="This is a simple prompt for testing.")
    contents: list[Any] = [text]
    if params.name == "test_prompt_with_arguments":
        told = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
        contents = [types.TextContent(type="text", text=told)]
    elif params.name == "test_prompt_with_embedded_resource":
        contents = [embedded(given.get("resourceUri", "test://example-resource")), text]
    elif params.name == "test_prompt_with_image":
        contents = [IMAGE, text]
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in contents])


async def complete(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


def make_fixture() -> Server[Any]:
    return Server(
        "conformance",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )


if __name__ == "__main__":
    run(make_app(make_fixture(), None), listening(int(sys.argv[1])))
