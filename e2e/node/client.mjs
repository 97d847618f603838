// The official client of npm against whatever OPENAI_BASE_URL names. Every
// argument is a scenario of the upstream; what came is printed, one JSON line
// for each, so that two runs can be compared.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 2 });
const print = (scenario, got) => console.log(JSON.stringify({ scenario, ...got }));
const ask = (content, more) => ({ model: "e2e-1", messages: [{ role: "user", content }], ...more });

async function stream(scenario) {
  const pieces = [];
  let usage = null;
  let failed = null;
  try {
    const events = await client.chat.completions.create(
      ask(scenario, { stream: true, stream_options: { include_usage: true } }),
    );
    for await (const event of events) {
      pieces.push(event.choices[0]?.delta ?? null);
      usage = event.usage ?? usage;
    }
  } catch (error) {
    failed = error.constructor.name;
  }
  print(`${scenario} as a stream`, { events: pieces.length, pieces, usage, failed });
}

for (const scenario of process.argv.slice(2)) {
  if (scenario === "responses") {
    const types = [];
    let text = "";
    for await (const event of await client.responses.create({ model: "e2e-1", input: "hello", stream: true })) {
      types.push(event.type);
      if (event.type === "response.completed") text = event.response.output[0].content[0].text;
    }
    print(scenario, { types, text });
  } else if (scenario === "models") {
    const list = await client.models.list();
    print(scenario, { ids: list.data.map((m) => m.id) });
  } else if (scenario.startsWith("stream:")) {
    await stream(scenario.slice("stream:".length));
  } else {
    try {
      const { data, response } = await client.chat.completions.create(ask(scenario)).withResponse();
      print(scenario, {
        status: response.status,
        request: response.headers.get("x-request-id"),
        choice: data.choices[0],
        usage: data.usage,
      });
    } catch (error) {
      print(scenario, { failed: error.constructor.name, status: error.status, code: error.code });
    }
  }
}
