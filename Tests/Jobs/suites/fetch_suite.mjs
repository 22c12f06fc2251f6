// Tests of a program that uses the fetch of Node. Writes each response to the file RESULTS: its bytes
// and its events.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

const base = process.env.HOLDFAST_URL;
const word = process.env.WORD ?? "bread";
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
const results = [];

const ask = async (path, text, stream) => {
  const body = JSON.stringify({ model: "gpt-sample", max_tokens: 64, stream, messages: [{ role: "user", content: text }] });
  const response = await fetch(base + path, { method: "POST", headers, body });
  assert.equal(response.status, 200, await response.clone().text());
  return response;
};

results.push(await (await ask("/v1/chat/completions", `How long does ${word} keep?`, false)).text());
for (const [path, end] of [["/v1/chat/completions", "data: [DONE]"], ["/v1/messages", "event: message_stop"]]) {
  const response = await ask(path, `Tell me about ${word}.`, true);
  assert.match(response.headers.get("content-type"), /^text\/event-stream/);
  const decoder = new TextDecoder();
  const events = [];
  let rest = "";
  for await (const piece of response.body) {
    rest += decoder.decode(piece, { stream: true });
    const complete = rest.split("\n\n");
    rest = complete.pop();
    events.push(...complete);
  }
  assert.equal(rest, "");
  assert.ok(events.at(-1).startsWith(end), events.at(-1));
  results.push(events);
}
writeFileSync(process.env.RESULTS, JSON.stringify(results));
