"""A replica of two APIs that are billed per call: OpenAI's and Anthropic's, with their JSON and their event streams.

Each response has an ID of its own and uneven pauses between its events, so no two calls get the same bytes. A key is needed,
and each response plants a cookie of its own, as behind a CDN. The last word of a prompt can ask for a defect:

CUT      the connection ends in the middle of the stream
SHORT    the stream ends cleanly without its last event
LARGE    the stream is larger than the rule allows
WAIT     the stream stops after its first event until `release` is called
"""

import json
import secrets
import threading

import origins

COOKIE = "planted-c00kie-" + secrets.token_hex(8)
WORDS = "Bread keeps longer in a cool dry place , and a store keeps what was asked .".split()


def openai_stream(answer, prompt):
    """The events of a chat completion."""
    shape = {"id": f"chatcmpl-{answer}", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "gpt-sample"}
    for index, word in enumerate(words(prompt)):
        delta = {"content": f"{word} "} | ({"role": "assistant"} if index == 0 else {})
        yield "data: " + json.dumps(shape | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) + "\n\n"
    if not prompt.endswith("SHORT"):
        yield "data: " + json.dumps(shape | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + "\n\n"
        yield "data: [DONE]\n\n"


def anthropic_stream(answer, prompt):
    """The events of a message."""
    def event(kind, **members):
        return f"event: {kind}\ndata: {json.dumps({'type': kind} | members)}\n\n"

    message = {
        "id": f"msg_{answer}", "type": "message", "role": "assistant", "model": "claude-sample", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 8, "output_tokens": 1},
    }  # fmt: skip
    yield event("message_start", message=message)
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield event("ping")
    for word in words(prompt):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": f"{word} "})
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 16})
    if not prompt.endswith("SHORT"):
        yield event("message_stop")


def words(prompt):
    return WORDS * 2_000 if prompt.endswith("LARGE") else WORDS


def openai_answer(answer, prompt):
    choice = {"index": 0, "message": {"role": "assistant", "content": f"{answer} answers {prompt}"}, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 8, "completion_tokens": 16, "total_tokens": 24}
    return {
        "id": f"chatcmpl-{answer}", "object": "chat.completion", "created": 1_760_000_000, "model": "gpt-sample", "choices": [choice], "usage": usage,
    }  # fmt: skip


def anthropic_answer(answer, prompt):
    return {
        "id": f"msg_{answer}", "type": "message", "role": "assistant", "model": "claude-sample", "stop_reason": "end_turn", "stop_sequence": None,
        "content": [{"type": "text", "text": f"{answer} answers {prompt}"}], "usage": {"input_tokens": 8, "output_tokens": 16},
    }  # fmt: skip


class Handler(origins.Handler):
    def do_GET(self):  # noqa: N802
        if self.path == "/release":
            self.server.waiting.set()
            return self.respond(b"{}")
        if not self.is_allowed():
            return self.respond(b'{"error":{"message":"a key is needed"}}', 401)
        return self.respond(json.dumps({"object": "list", "data": [{"id": "gpt-sample", "object": "model"}], "answer": self.server.call(self)}).encode())

    def do_POST(self):  # noqa: N802
        content = self.content()
        if not self.is_allowed():
            return self.respond(b'{"error":{"message":"a key is needed"}}', 401)
        answer = self.server.call(self)
        # Python's numbers have no limit, so two IDs above 2^53 stay two.
        asked = json.loads(content)
        if self.path.startswith("/v1/echo"):
            return self.respond(json.dumps({"answer": answer, "asked": asked}).encode())
        last = asked["messages"][-1]["content"]
        prompt = last if isinstance(last, str) else last[0]["text"]
        is_message = self.path.startswith("/v1/messages")
        if asked.get("stream"):
            return self.stream((anthropic_stream if is_message else openai_stream)(answer, prompt), prompt)
        return self.respond(json.dumps((anthropic_answer if is_message else openai_answer)(answer, prompt)).encode())

    def content(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def is_allowed(self):
        keys = {self.headers.get("Authorization", "").removeprefix("Bearer "), self.headers.get("X-Api-Key", "")}
        return bool(keys & self.server.keys)

    def head(self, status, media_type):
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        # As such APIs do: a habit, and not a statement about this response.
        self.send_header("Cache-Control", "no-cache, must-revalidate" if "stream" in media_type else "no-store")
        if self.server.sets_cookies:
            self.send_header("Set-Cookie", f"session={COOKIE}-{secrets.token_hex(4)}; Path=/; HttpOnly")

    def respond(self, body, status=200):
        self.head(status, "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events, prompt):
        self.head(200, "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            data = event.encode()
            if number == 5 and prompt.endswith("CUT"):
                self.wfile.write(b"%x\r\n" % len(data) + data[: len(data) // 2])
                self.wfile.flush()
                self.connection.close()
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
            if number == 0 and prompt.endswith("WAIT"):
                self.server.waiting.wait(120)
        self.wfile.write(b"0\r\n\r\n")


class PaidAPI(origins.Origin):
    """The replica."""

    handler = Handler
    sets_cookies = True

    def __init__(self, *keys):
        self.keys, self.calls, self.lock, self.waiting = set(keys), [], threading.Lock(), threading.Event()
        super().__init__()

    def call(self, handler):
        """Counts a call, and returns a name of its own."""
        with self.lock:
            self.calls.append((handler.command, handler.path))
        return secrets.token_hex(12)
