"""Tests of a program that uses Anthropic's library. Writes each response to the file RESULTS: its bytes and its events."""

import json
import os

import anthropic

client = anthropic.Anthropic(base_url=os.environ["HOLDFAST_URL"], max_retries=0)
word = os.environ.get("WORD", "bread")
results = []


def asking(text):
    return {"model": "claude-sample", "max_tokens": 64, "messages": [{"role": "user", "content": text}]}


raw = client.messages.with_raw_response.create(**asking(f"How long does {word} keep?"))
answer = raw.parse()
assert answer.content[0].text.endswith(f"{word} keep?"), answer
results.append(raw.text if isinstance(raw.text, str) else raw.text())
events = [event.model_dump(mode="json") for event in client.messages.create(**asking(f"Tell me about {word}."), stream=True)]
assert events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop", events
results.append(events)
with client.messages.with_streaming_response.create(**asking(f"Say more about {word}."), stream=True) as response:
    results.append(b"".join(response.iter_bytes()).decode())
assert "event: message_stop" in results[-1], results[-1][-200:]
with open(os.environ["RESULTS"], "w") as file:
    json.dump(results, file)
