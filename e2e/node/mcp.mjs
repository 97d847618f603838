// The official client of the Model Context Protocol against the server at
// NOTES_BASE_URL: lists its tools, calls one, one that fails, and many at once.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "e2e", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.NOTES_BASE_URL + "/mcp")));
const print = (scenario, got) => console.log(JSON.stringify({ scenario, got }));
print("server", client.getServerVersion());
print("tools", (await client.listTools()).tools.map((t) => t.name));
const note = (text) => client.callTool({ name: "note", arguments: { text } });
print("call", (await note("from npm")).structuredContent);
print("refused", await note("two\nlines").catch((e) => ({ failed: e.constructor.name, code: e.code })));
print("unknown", await client.callTool({ name: "nothing", arguments: {} }).catch((e) => ({ failed: e.constructor.name, code: e.code })));
const many = await Promise.all(Array.from({ length: 8 }, (_, i) => client.callTool({ name: "say", arguments: { text: `number ${i}` } })));
print("many", many.map((r) => r.structuredContent));
await client.close();
process.exit(0);
