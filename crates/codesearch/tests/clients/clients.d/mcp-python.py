"""The Python SDK of the Model Context Protocol."""
import asyncio
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    args = ["mcp", "--home", os.environ["CODESEARCH_HOME"]]
    server = StdioServerParameters(command=os.environ["CODESEARCH"], args=args, env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert {"search", "read_file", "find_file", "list_repos"} <= tools, tools
        calls = [session.call_tool("search", {"query": "tide", "limit": 2}) for _ in range(20)]
        answers = await asyncio.gather(*calls)
        assert len({answer.content[0].text for answer in answers}) == 1 and "tide" in answers[0].content[0].text
        print(f"{len(tools)} tools, {len(answers)} calls at once")


asyncio.run(main())
