"""MCP's Python SDK as a client of `codesearch mcp`.

    pip install mcp
    python mcp_python.py target/debug/codesearch --index NAME

What follows the program are its options. The index must hold at least one file with a letter in it. Ends with 0 if all is
as it should be.
"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def field(of: object, name: str):
    """A field by its name in version 2 of the SDK, or in version 1: server_info, serverInfo."""
    first, *rest = name.split("_")
    old = first + "".join(part.capitalize() for part in rest)
    return getattr(of, name) if hasattr(of, name) else getattr(of, old)


async def check(session: ClientSession) -> None:
    hello = await session.initialize()
    assert field(hello, "server_info").name == "codesearch", hello
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    listed = {"search", "symbol", "read_file", "find_file", "diff", "list_repos"}
    # sql is for operators.
    assert set(tools) - {"sql"} == listed, tools
    for tool in tools.values():
        for name, what in field(tool, "input_schema")["properties"].items():
            assert isinstance(what["type"], str), (tool.name, name, what)

    async def told(tool: str, arguments: dict, **more) -> str:
        answer = await session.call_tool(tool, arguments, **more)
        assert not field(answer, "is_error"), answer
        return answer.content[0].text

    async def refused(tool: str, arguments: dict) -> str:
        answer = await session.call_tool(tool, arguments)
        assert field(answer, "is_error"), answer
        return answer.content[0].text

    repos = await told("list_repos", {})
    repo = repos.split("\n\n", 1)[1].split(" (")[0]
    # Numbers as models write them.
    for limit in (1, 1.0, "1", "1.0"):
        found = await told("search", {"query": "[a-z]", "limit": limit, "max_bytes": "2048"})
        assert len(found.encode()) <= 2048, len(found)
    assert "expected usize" not in await refused("search", {"query": "a", "limit": "many"})
    unknown = await refused("read_file", {"repo": f"{repo}x", "path": "a"})
    assert "did you mean" in unknown and repo in unknown, unknown
    for order in ("best", "exhaustive"):
        await told("search", {"query": "[a-z]", "order": order})
    nothing = await told("search", {"query": "qqxzzy zzyxqq"})
    assert nothing.startswith("Nothing matches."), nothing

    heard = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    await told("search", {"query": "[a-z]"}, progress_callback=hear)
    # What was told before the answer may be handled after it.
    for _ in range(100):
        if heard:
            break
        await asyncio.sleep(0.05)
    assert heard, "no word of progress"
    # Twenty calls at once.
    calls = [told("search", {"query": "[a-z]", "limit": n + 1}) for n in range(20)]
    assert len(await asyncio.gather(*calls)) == 20


async def main() -> None:
    program, *options = sys.argv[1:]
    server = StdioServerParameters(command=program, args=["mcp", *options])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await check(session)
    print("MCP's Python SDK: all is as it should be")


if __name__ == "__main__":
    asyncio.run(main())
