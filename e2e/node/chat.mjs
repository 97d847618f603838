// Every SDK of npm that asks a model, put through the same scenarios:
//
//	node chat.mjs SDK SCENARIO…
//
// A scenario "stream:X" asks for X as a stream, and "many:N" asks N things at
// once. What came is printed, one JSON line for each, so that two runs can be
// compared.
const [sdk, ...scenarios] = process.argv.slice(2);

// Each SDK has ask(said, stream) → {text, calls, more} and tools(stream) →
// text; both throw what the SDK throws.
const weather = { type: "object", properties: { city: { type: "string" }, unit: { type: "string" } }, required: ["city"] };
const time = { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] };
const result = (name) => (name === "get_weather" ? '{"celsius":-3}' : '{"time":"23:10"}');

const sdks = {
  async openai() {
    const { default: OpenAI } = await import("openai");
    const client = new OpenAI({ maxRetries: 3 });
    const tools = [["get_weather", weather], ["get_time", time]].map(([name, parameters]) => ({ type: "function", function: { name, parameters } }));
    const once = async (messages, stream, more = {}) => {
      if (!stream) {
        const { data, response } = await client.chat.completions.create({ model: "e2e-1", messages, ...more }).withResponse();
        return { message: data.choices[0].message, more: { usage: data.usage, request: response.headers.get("x-request-id") } };
      }
      const runner = client.chat.completions.stream({ model: "e2e-1", messages, stream_options: { include_usage: true }, ...more });
      let events = 0;
      for await (const _ of runner) events++;
      return { message: await runner.finalMessage(), more: { events, usage: await runner.totalUsage() } };
    };
    return {
      async ask(said, stream) {
        const { message, more } = await once([{ role: "user", content: said }], stream);
        return { text: message.content, more };
      },
      async tools(stream) {
        const messages = [{ role: "user", content: "tools" }];
        const { message } = await once(messages, stream, { tools });
        messages.push(message, ...message.tool_calls.map((c) => ({ role: "tool", tool_call_id: c.id, content: result(c.function.name) })));
        const last = await once(messages, stream, { tools });
        return { calls: message.tool_calls.map((c) => [c.id, c.function.name, c.function.arguments]), text: last.message.content };
      },
    };
  },
  async responses() {
    const { default: OpenAI } = await import("openai");
    const client = new OpenAI({ maxRetries: 3 });
    const tools = [["get_weather", weather], ["get_time", time]].map(([name, parameters]) => ({ type: "function", name, parameters, strict: false }));
    const once = async (input, stream, more = {}) => {
      if (!stream) return { response: await client.responses.create({ model: "e2e-1", input, ...more }) };
      const runner = client.responses.stream({ model: "e2e-1", input, ...more });
      const types = [];
      for await (const e of runner) types.push(e.type);
      return { response: await runner.finalResponse(), types };
    };
    return {
      async ask(said, stream) {
        const { response, types } = await once(said, stream);
        return { text: response.output_text, more: { usage: response.usage, types } };
      },
      async tools(stream) {
        const input = [{ role: "user", content: "tools" }];
        const { response } = await once(input, stream, { tools });
        const calls = response.output.filter((o) => o.type === "function_call");
        input.push(
          ...calls.map(({ type, call_id, name, arguments: a }) => ({ type, call_id, name, arguments: a })),
          ...calls.map((c) => ({ type: "function_call_output", call_id: c.call_id, output: result(c.name) })),
        );
        const last = await once(input, stream, { tools });
        return { calls: calls.map((c) => [c.call_id, c.name, c.arguments]), text: last.response.output_text };
      },
    };
  },
  async anthropic() {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    const client = new Anthropic({ maxRetries: 3 });
    const tools = [["get_weather", weather], ["get_time", time]].map(([name, input_schema]) => ({ name, input_schema }));
    const once = async (messages, stream, more = {}) => {
      const params = { model: "e2e-1", max_tokens: 100, messages, ...more };
      if (!stream) return { message: await client.messages.create(params) };
      const runner = client.messages.stream(params);
      let events = 0;
      for await (const _ of runner) events++;
      return { message: await runner.finalMessage(), events };
    };
    const text = (m) => m.content.filter((c) => c.type === "text").map((c) => c.text).join("");
    return {
      async ask(said, stream) {
        const { message, events } = await once([{ role: "user", content: said }], stream);
        return { text: text(message), more: { usage: message.usage, events } };
      },
      async tools(stream) {
        const messages = [{ role: "user", content: "tools" }];
        const { message } = await once(messages, stream, { tools });
        const calls = message.content.filter((c) => c.type === "tool_use");
        messages.push({ role: "assistant", content: message.content });
        messages.push({ role: "user", content: calls.map((c) => ({ type: "tool_result", tool_use_id: c.id, content: result(c.name) })) });
        const last = await once(messages, stream, { tools });
        return { calls: calls.map((c) => [c.id, c.name, c.input]), text: text(last.message) };
      },
    };
  },
  async genai() {
    const { GoogleGenAI } = await import("@google/genai");
    const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY, httpOptions: { retryOptions: { attempts: 4 } } });
    const tools = [{ functionDeclarations: [["get_weather", weather], ["get_time", time]].map(([name, parametersJsonSchema]) => ({ name, parametersJsonSchema })) }];
    const once = async (contents, stream, config) => {
      const params = { model: "e2e-1", contents, config };
      if (!stream) {
        const r = await client.models.generateContent(params);
        return { text: r.text, calls: r.functionCalls ?? [], more: { usage: r.usageMetadata } };
      }
      const out = { text: "", calls: [], more: { chunks: 0 } };
      for await (const c of await client.models.generateContentStream(params)) {
        out.text += c.text ?? "";
        out.calls.push(...(c.functionCalls ?? []));
        out.more.chunks++;
        out.more.usage = c.usageMetadata;
      }
      return out;
    };
    return {
      ask: (said, stream) => once(said, stream),
      async tools(stream) {
        const contents = [{ role: "user", parts: [{ text: "tools" }] }];
        const first = await once(contents, stream, { tools });
        contents.push({ role: "model", parts: first.calls.map((functionCall) => ({ functionCall })) });
        contents.push({ role: "user", parts: first.calls.map((c) => ({ functionResponse: { name: c.name, response: JSON.parse(result(c.name)) } })) });
        const last = await once(contents, stream, { tools });
        return { calls: first.calls.map((c) => [c.name, c.args]), text: last.text };
      },
    };
  },
  // Whole answers by InvokeModel, streams by ConverseStream; it speaks HTTP/2.
  async bedrock() {
    const { BedrockRuntimeClient, ConverseStreamCommand, InvokeModelCommand } = await import("@aws-sdk/client-bedrock-runtime");
    const client = new BedrockRuntimeClient({ maxAttempts: 4 });
    const modelId = "anthropic.e2e-1:0"; // a colon is escaped twice in what is signed
    const whole = async (said) => {
      const body = JSON.stringify({ anthropic_version: "bedrock-2023-05-31", max_tokens: 100, messages: [{ role: "user", content: said }] });
      const r = await client.send(new InvokeModelCommand({ modelId, contentType: "application/json", body }));
      const { content, usage } = JSON.parse(new TextDecoder().decode(r.body));
      return { text: content.map((c) => c.text).join(""), more: { usage } };
    };
    const streamed = async (said) => {
      const r = await client.send(new ConverseStreamCommand({ modelId, messages: [{ role: "user", content: [{ text: said }] }] }));
      const out = { text: "", more: { events: [] } };
      for await (const e of r.stream) {
        out.text += e.contentBlockDelta?.delta.text ?? "";
        out.more.events.push(...Object.keys(e));
        out.more.usage = e.metadata?.usage;
      }
      return out;
    };
    return { ask: (said, stream) => (stream ? streamed(said) : whole(said)) };
  },
  "ai-openai": () => ai(async () => (await import("@ai-sdk/openai")).openai("e2e-1")),
  "ai-anthropic": () => ai(async () => (await import("@ai-sdk/anthropic")).anthropic("e2e-1")),
  // @ai-sdk/google reads no variable: its address is given to it in code.
  "ai-google": () =>
    ai(async () => {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ baseURL: process.env.GOOGLE_GEMINI_BASE_URL + "/v1beta", apiKey: process.env.GEMINI_API_KEY })("e2e-1");
    }),
  async agents() {
    const { Agent, Runner, setTracingDisabled, tool } = await import("@openai/agents");
    const { z } = await import("zod");
    setTracingDisabled(true); // it goes elsewhere
    const tools = [
      tool({ name: "get_weather", description: "weather", parameters: z.object({ city: z.string(), unit: z.string() }), execute: async () => result("get_weather") }),
      tool({ name: "get_time", description: "time", parameters: z.object({ zone: z.string() }), execute: async () => result("get_time") }),
    ];
    const once = async (said, stream, more) => {
      const agent = new Agent({ name: "e2e", instructions: "Be brief.", model: "e2e-1", ...more });
      const run = await new Runner().run(agent, said, { stream });
      const types = [];
      if (stream) {
        for await (const e of run) types.push(e.type);
        await run.completed;
      }
      return { text: run.finalOutput, calls: run.newItems.map((i) => i.type), more: { types } };
    };
    return { ask: (said, stream) => once(said, stream), tools: (stream) => once("tools", stream, { tools }) };
  },
};

// ai is the AI SDK with any provider.
async function ai(provider) {
  const { generateText, streamText, stepCountIs, tool, jsonSchema } = await import("ai");
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const model = await provider();
  const tools = {
    get_weather: tool({ description: "weather", inputSchema: jsonSchema(weather), execute: async () => JSON.parse(result("get_weather")) }),
    get_time: tool({ description: "time", inputSchema: jsonSchema(time), execute: async () => JSON.parse(result("get_time")) }),
  };
  const once = async (prompt, stream, more = {}) => {
    const params = { model, prompt, maxRetries: 3, ...more };
    if (!stream) {
      const r = await generateText(params);
      return { text: r.text, calls: r.steps.flatMap((s) => s.toolCalls.map((c) => [c.toolName, c.input])), more: { usage: r.usage } };
    }
    let failed;
    const r = streamText({ ...params, onError: ({ error }) => (failed = error) });
    const types = [];
    for await (const part of r.fullStream) types.push(part.type);
    if (failed) throw failed;
    return { text: await r.text, calls: (await r.steps).flatMap((s) => s.toolCalls.map((c) => [c.toolName, c.input])), more: { types, usage: await r.usage } };
  };
  return { ask: (said, stream) => once(said, stream), tools: (stream) => once("tools", stream, { tools, stopWhen: stepCountIs(4) }) };
}

const { ask, tools } = await sdks[sdk]();
const one = async (scenario) => {
  const stream = scenario.startsWith("stream:");
  const said = stream ? scenario.slice("stream:".length) : scenario;
  try {
    return said === "tools" ? await tools(stream) : await ask(said, stream);
  } catch (error) {
    const e = error.lastError ?? error;
    return { failed: e.constructor.name, status: e.status ?? e.statusCode ?? e.$metadata?.httpStatusCode };
  }
};
for (const scenario of scenarios) {
  if (scenario.startsWith("many:")) {
    const said = Array.from({ length: Number(scenario.slice("many:".length)) }, (_, i) => `question ${i}`);
    console.log(JSON.stringify({ scenario, got: await Promise.all(said.map((s, i) => one(i % 2 ? s : `stream:${s}`))) }));
  } else {
    console.log(JSON.stringify({ scenario, ...(await one(scenario)) }));
  }
}
process.exit(0); // what keeps the loop alive is no business of ours
