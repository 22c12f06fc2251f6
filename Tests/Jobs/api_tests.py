"""Suites that use APIs billed per call: recorded once with a key, replayed in a namespace without a route and without a key."""

import collections
import json
import os
import secrets
import sys
import urllib.request

from commands import HERE, PATIENCE, QUICK, JobTest, files_with, serving
from paid_api import COOKIE, PaidAPI

RULES = """
version: 1
routes:
  - {name: api, path: /v1, origin: "URL/v1"}
rules:
  - name: messages
    match: {url: "URL/v1/messages"}
    store: {events: {largest: 64 KiB, ends-with: message_stop}}
  - name: answers
    match: {url: "URL/v1/**"}
    store: {content: json, events: {largest: 64 KiB, ends-with: "[DONE]"}}
    stale: {ignore: [no-store, no-cache, must-revalidate]}
"""
REPLAYS = 1 if QUICK else 20
SUITES = {
    "openai": [sys.executable, str(HERE / "suites/openai_suite.py")],
    "anthropic": [sys.executable, str(HERE / "suites/anthropic_suite.py")],
    "fetch": ["node", str(HERE / "suites/fetch_suite.mjs")],
}
# The member of each suite's first request that has the changed word.
PROMPTS = {"openai": "/messages/1/content", "anthropic": "/messages/0/content", "fetch": "/messages/0/content"}
ASKING = [sys.executable, str(HERE / "suites/asking.py")]


# A request as each suite's library sends it.
SHAPES = {
    "openai": ("/v1/chat/completions", {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How long does bread keep?"}], "model": "gpt-sample",
        "tools": [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {"a/b": {"type": "string"}}}}}],
    }),
    "anthropic": ("/v1/messages", {
        "max_tokens": 64, "messages": [{"role": "user", "content": [{"type": "text", "text": "How long does bread keep?"}]}], "model": "claude-sample",
        "metadata": {"user_id": "one"},
    }),
    "fetch": ("/v1/chat/completions", {
        "model": "gpt-sample", "max_tokens": 64, "stream": False, "messages": [{"role": "user", "content": "How long does bread keep?"}], "m~n": [1, [2, 3]],
    }),
}  # fmt: skip


def differences(asked):
    """Changes of a request: the JSON Pointer of the first difference (RFC 6901), its words, and the changed request."""
    def places(value, pointer):
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
        if children is None:
            yield pointer, value
            return
        for name, child in children:
            yield from places(child, [*pointer, name])

    def changed(pointer, value):
        copy = json.loads(json.dumps(asked))
        around = copy
        for name in pointer[:-1]:
            around = around[name]
        around[pointer[-1]] = value
        return copy

    for place, value in places(asked, []):
        text = "".join("/" + str(name).replace("~", "~0").replace("/", "~1") for name in place)
        other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value + " cheese"
        yield text, "has another value", changed(place, other)
    yield "/temperature", "was absent", asked | {"temperature": {"of": [0.5]}}
    yield "/model", "is absent", {name: value for name, value in asked.items() if name != "model"}


class API(JobTest):
    def setUp(self):
        super().setUp()
        self.key = "sk-planted-5ecret-" + secrets.token_hex(8)
        self.other = "sk-planted-0ther-" + secrets.token_hex(8)
        self.api = PaidAPI(self.key, self.other)
        self.addCleanup(self.api.end)
        self.results = self.folder / "results.json"
        self.asked = self.commands(RULES.replace("URL", self.api.url), RESULTS=str(self.results))
        self.said = []

    def keys(self, key):
        return {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key}

    def record(self, name, command, *options, key=None, **environment):
        outcome = self.asked.record(name, command, "--post", *options, **self.keys(key or self.key), **environment)
        self.said.append(outcome)
        return outcome

    def replay(self, name, command, *options, **environment):
        self.results.unlink(missing_ok=True)
        outcome = self.asked.replay(name, command, *options, **self.keys("none"), **environment)
        self.said.append(outcome)
        return outcome

    def ask(self, *contents, path="/v1/chat/completions"):
        """A command that sends contents, and writes what it gets."""
        return [*ASKING, path, *contents]

    def assert_secret(self, *more):
        """No key and no cookie is in the store's files or in what was said; and the search finds what is there."""
        self.said += [self.asked.jobs(), self.asked.jobs("--format", "json")]
        for secret in (self.key, self.other, COOKIE, *more):
            self.assertEqual([], files_with(secret, self.asked.store))
            for outcome in self.said:
                self.assertNotIn(secret, outcome.error + outcome.output.decode(errors="replace"))
        self.assertTrue(files_with('{"holdfast-job":1', self.asked.store))


class Suites(API):
    tools = ("node",)

    def check(self, suite, calls):
        command = SUITES[suite]
        self.assert_ended(0, self.record(suite, command))
        recorded = json.loads(self.results.read_text())
        self.assertEqual(calls, len(self.api.calls), self.api.calls)
        self.assert_runs(self.asked, suite, requests=calls)
        for _ in range(REPLAYS):
            self.assert_ended(0, self.replay(suite, command, "--all"))
            self.assertEqual(recorded, json.loads(self.results.read_text()))
        # One word of a prompt is another. The prompt's member is named.
        changed = self.replay(suite, command, WORD="cheese")
        self.assertNotEqual(0, changed.status, changed)
        self.assertTrue(changed.refused, changed)
        self.assertTrue(changed.refused[0].endswith(f"the content's member '{PROMPTS[suite]}' has another value."), changed)
        self.assertNotIn("cheese", changed.error)
        self.assertEqual(calls, len(self.api.calls), "a replay reached the API")
        if not QUICK:
            self.check_differences(suite)
        self.assert_secret()

    def check_differences(self, suite):
        """Each way in which a request differs from a recorded one is named, on standard error and in the response."""
        name = f"{suite}-asked"
        path, asked = SHAPES[suite]
        self.assert_ended(0, self.record(name, self.ask(json.dumps(asked), path=path)))
        calls = len(self.api.calls)
        for pointer, words, change in differences(asked):
            with self.subTest(suite=suite, member=pointer, change=words):
                outcome = self.replay(name, self.ask(json.dumps(change), path=path))
                self.assert_ended(1, outcome)
                said = f"the content's member '{pointer}' {words}"
                self.assertEqual(1, len(outcome.refused), outcome)
                self.assertTrue(outcome.refused[0].endswith(f": {said}."), outcome)
                (answer,) = json.loads(self.results.read_text())
                nearest = json.loads(answer["body"])["nearest"]
                self.assertEqual((504, "content", pointer, said), (answer["status"], nearest["differs"], nearest["name"], nearest["difference"]))
        self.assertEqual(calls, len(self.api.calls), "a replay reached the API")

    def test_openai(self):
        self.check("openai", 4)

    def test_anthropic(self):
        self.check("anthropic", 3)

    def test_fetch_of_node(self):
        self.check("fetch", 3)

    def test_a_recording_without_a_key_fails_and_is_not_kept(self):
        outcome = self.record("none", SUITES["fetch"], key="wrong")
        self.assertNotEqual(0, outcome.status)
        self.assertEqual({}, self.asked.states())


class Contents(API):
    def answers(self):
        return json.loads(self.results.read_text())

    def test_two_large_numbers_never_share_a_response(self):
        pairs = [(2**53, 2**53 + 1), (2**63 - 1, 2**63), (10**25, 10**25 + 1)]
        contents = [f'{{"id": {number}}}' for pair in pairs for number in pair]
        self.assert_ended(0, self.record("ids", self.ask(*contents, path="/v1/echo")))
        recorded = self.answers()
        self.assertEqual(len(contents), len({json.loads(each["body"])["answer"] for each in recorded}))
        # Other white space is the same content; other digits are not.
        spaced = [content.replace(" ", "") for content in contents]
        self.assert_ended(0, self.replay("ids", self.ask(*spaced, path="/v1/echo")))
        self.assertEqual([each["body"] for each in recorded], [each["body"] for each in self.answers()])
        for first, second in pairs:
            name = f"first-{first}"
            self.assert_ended(0, self.record(name, self.ask(f'{{"id": {first}}}', path="/v1/echo")))
            outcome = self.replay(name, self.ask(f'{{"id": {second}}}', path="/v1/echo"))
            self.assert_ended(1, outcome)
            self.assertEqual(1, len(outcome.refused), outcome)
        self.assert_secret()

    def test_streams_that_are_not_whole_are_not_stored(self):
        for defect, reason in (("CUT", "cut-short"), ("SHORT", "last-event"), ("LARGE", "body-length")):
            for path in ("/v1/chat/completions", "/v1/messages"):
                with self.subTest(defect=defect, path=path):
                    name = defect.lower() + path.replace("/", "-")
                    content = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": f"Speak {defect}"}]})
                    recorded = self.record(name, self.ask(content, path=path))
                    self.assert_ended(0, recorded)
                    (got,) = self.answers()
                    self.assertEqual((200, defect == "CUT"), (got["status"], got["cut"]), "the client gets it as it came")
                    state = self.asked.states()[name]
                    self.assertFalse(state["wouldRun"], state)
                    (refused,) = state["refused"]
                    self.assertEqual(f"{self.api.url}{path}", refused["url"])
                    self.assert_ended(1, self.replay(name, self.ask(content, path=path)))
                    self.assertEqual(504, self.answers()[0]["status"])
                    self.assertEqual([], files_with("finish_reason", self.asked.store) + files_with("content_block", self.asked.store), reason)
        # The same without a defect is stored.
        content = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Speak"}]})
        self.assert_ended(0, self.record("whole", self.ask(content)))
        self.assert_runs(self.asked, "whole", requests=1)
        self.assertNotEqual([], files_with("finish_reason", self.asked.store))

    def test_a_job_has_one_identity(self):
        content = '{"model": "m", "messages": [{"role": "user", "content": "Who am I?"}]}'
        both = ["sh", "-c", '"$@" && OPENAI_API_KEY="$OTHER" "$@"', "sh", *self.ask(content)]
        outcome = self.record("two", both, OTHER=self.other)
        self.assert_ended(0, outcome)
        self.assertIn("1 request with other credentials at '", outcome.error)
        self.assertFalse(self.asked.states()["two"]["wouldRun"])
        # Each key in a job of its own: neither gets what the other one was told.
        told = {}
        for name, key in (("mine", self.key), ("hers", self.other)):
            self.assert_ended(0, self.record(name, self.ask(content), key=key))
            told[name] = self.answers()[0]["body"]
        self.assertNotEqual(told["mine"], told["hers"])
        for name in ("mine", "hers", "mine"):
            self.assert_ended(0, self.replay(name, self.ask(content)))
            self.assertEqual(told[name], self.answers()[0]["body"])
        self.assert_secret()

    def test_credentials_of_every_kind_are_kept_nowhere(self):
        planted = {kind: f"planted-{kind}-{secrets.token_hex(8)}" for kind in ("cookie", "parameter", "field", "token")}
        fields = {"Cookie": f"sid={planted['cookie']}", "X-Api-Key": planted["field"], "X-Auth-Token": planted["token"]}
        path = f"/v1/echo?api_key={planted['parameter']}&page=1"
        self.assert_ended(0, self.record("secrets", self.ask('{"a": 1}', path=path), FIELDS=json.dumps(fields)))
        self.assertIn(("POST", path), self.api.calls, "the API got the parameter")
        self.assert_runs(self.asked, "secrets", requests=1)
        self.assert_ended(0, self.replay("secrets", self.ask('{"a": 1}', path="/v1/echo?page=1")))
        self.assertEqual(200, self.answers()[0]["status"])
        # A refused request is named without its secrets.
        refused = self.replay("secrets", self.ask('{"a": 2}', path=path), FIELDS=json.dumps(fields))
        self.assert_ended(1, refused)
        self.assertEqual(1, len(refused.refused))
        self.assert_secret(*planted.values())


class Crowds(API):
    """Thirty clients that ask the same at once. The API holds the stream after its first event until all of them have it."""

    CONTENT = '{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Please WAIT"}]}'

    def crowd(self, *keys):
        command = [sys.executable, str(HERE / "suites/crowd.py"), "/v1/chat/completions", self.CONTENT]
        return command, {"KEYS": " ".join(keys), "CLIENTS": "30", "RELEASE": f"{self.api.url}/release"}

    def check(self, calls):
        bodies = [each["body"] for each in json.loads(self.results.read_text())]
        self.assertEqual(30, len(bodies))
        counts = collections.Counter(bodies)
        self.assertEqual(calls, len(counts), counts.values())
        self.assertEqual({30 // calls}, set(counts.values()))
        self.assertTrue(all(body.endswith("data: [DONE]\n\n") for body in bodies))
        self.assertEqual(calls, len(self.api.calls), self.api.calls)

    def test_a_recording_asks_once_for_all(self):
        """Although the API sets cookies and says `no-cache`, and each client says so, too."""
        command, environment = self.crowd(self.key)
        environment |= {"FIELDS": json.dumps({"Cache-Control": "no-cache", "Pragma": "no-cache"})}
        self.assert_ended(0, self.record("crowd", command, **environment))
        self.check(1)
        self.assert_runs(self.asked, "crowd", requests=1)
        recorded = json.loads(self.results.read_text())
        self.assert_ended(0, self.replay("crowd", command, **environment | {"RELEASE": ""}))
        self.assertEqual(recorded, json.loads(self.results.read_text()))
        self.assert_secret()

    def serve(self, *keys):
        """A gateway for many clients keeps the responses of each key apart."""
        # A response that sets a cookie is for one client. Without a lifetime, one would be asked for by each.
        self.api.sets_cookies = False
        text = self.asked.configuration.read_text()
        text = text.replace("stale:", "ignore: {directives: [no-cache, no-store]}\n    freshness: {lifetime: 1 d}\n    stale:")
        self.asked = self.commands(text.replace("content: json,", "content: json, per: {field: Authorization},"))
        command, environment = self.crowd(*keys)
        with serving(self.asked, self.folder) as url:
            done = self.asked.environment | environment | {"HOLDFAST_URL": url, "RESULTS": str(self.results)}
            status = os.spawnvpe(os.P_WAIT, command[0], command, done)
            self.assertEqual(0, status)

    def test_a_gateway_asks_once_for_one_credential(self):
        self.serve(self.key)
        self.check(1)

    def test_a_gateway_asks_twice_for_two_credentials(self):
        self.serve(self.key, self.other)
        self.check(2)

    def test_the_replica_answers_each_call_of_its_own(self):
        """Otherwise the other tests could not tell whose response a client got."""
        def ask():
            request = urllib.request.Request(f"{self.api.url}/v1/models", headers={"Authorization": f"Bearer {self.key}"})
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE) as response:
                return response.read()

        self.assertNotEqual(ask(), ask())
