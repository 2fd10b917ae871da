// The TypeScript SDK of the Model Context Protocol.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const transport = new StdioClientTransport({
  command: process.env.CODESEARCH,
  args: ["mcp", "--home", process.env.CODESEARCH_HOME],
  env: { ...process.env },
});
const client = new Client({ name: "clients", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const calls = Array.from({ length: 20 }, () => client.callTool({ name: "search", arguments: { query: "tide", limit: 2 } }));
const answers = await Promise.all(calls);
const texts = new Set(answers.map((answer) => answer.content[0].text));
if (answers.some((answer) => answer.isError) || texts.size !== 1) throw new Error([...texts].join("\n"));
await client.close();
console.log(`${tools.length} tools, ${answers.length} calls at once`);
