"""Tests of a program that uses OpenAI's library. Writes each response to the file RESULTS: its bytes and its events."""

import json
import os

import openai

client = openai.OpenAI(base_url=os.environ["HOLDFAST_URL"] + "/v1", max_retries=0)
word = os.environ.get("WORD", "bread")
results = []


def asking(text):
    return {"model": "gpt-sample", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]}


# The library's own pages, JSON and streams.
raw = client.models.with_raw_response.list()
results.append(raw.text if isinstance(raw.text, str) else raw.text())
raw = client.chat.completions.with_raw_response.create(**asking(f"How long does {word} keep?"))
answer = raw.parse()
assert answer.choices[0].message.content.endswith(f"{word} keep?"), answer
results.append(raw.text if isinstance(raw.text, str) else raw.text())
events = [chunk.model_dump(mode="json") for chunk in client.chat.completions.create(**asking(f"Tell me about {word}."), stream=True)]
assert events[0]["choices"][0]["delta"]["role"] == "assistant" and events[-1]["choices"][0]["finish_reason"] == "stop", events
results.append(events)
with client.chat.completions.with_streaming_response.create(**asking(f"Say more about {word}."), stream=True) as response:
    results.append(b"".join(response.iter_bytes()).decode())
assert results[-1].endswith("data: [DONE]\n\n"), results[-1][-200:]
with open(os.environ["RESULTS"], "w") as file:
    json.dump(results, file)
