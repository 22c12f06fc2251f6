// Node's fetch (undici): kept connections, streams in both directions, cancelled requests.
// Offline, it repeats the reads.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const [phase, gateway, , memory] = process.argv.slice(2);
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
const bytesOf = async (response) => Buffer.from(await response.arrayBuffer());
const cacheStatus = (response) => response.headers.get("cache-status") ?? "";
const done = (what) => console.log(`    ok  ${what}`);
const remember = (name, bytes) => writeFile(join(memory, name), bytes);
const remembered = (name) => readFile(join(memory, name));
// Stale at once: the gateway validates it each time while the origin is reachable.
const stale = "/respond?field=Cache-Control:max-age%3D0&body=old";
const get = (path, options = {}) => fetch(gateway + path, { signal: AbortSignal.timeout(20_000), ...options });

// Repeats a request until its response joins none that is still being stored.
async function settled(path) {
    for (let tries = 0; tries < 1000; tries += 1) {
        const response = await get(path);
        if (!cacheStatus(response).includes("collapsed")) return response;
        await response.arrayBuffer();
    }
    assert.fail(`still being stored after 1,000 requests: ${path}`);
}

async function online() {
    const first = await get("/moments?userID=harbour&page=1");
    assert.equal(first.status, 200);
    assert.match(cacheStatus(first), /^holdfast; fwd=uri-miss; stored/);
    const feed = await bytesOf(first);
    const second = await settled("/moments?userID=harbour&page=1");
    assert.match(cacheStatus(second), /^holdfast; hit; ttl=/);
    assert.ok(Number(second.headers.get("age")) >= 0);
    assert.deepEqual(await bytesOf(second), feed);
    assert.ok(JSON.parse(feed).moments.length > 0);
    await remember("feed", feed);
    for (const expected of [/fwd=uri-miss; stored/, /fwd=stale/]) {
        const response = await settled(stale);
        assert.match(cacheStatus(response), expected);
        assert.equal(await response.text(), "old");
    }
    done("a miss, a hit, and a validation");

    // undici requests coded content, and decodes it.
    const text = await bytesOf(await get("/gzip/50000"));
    const again = await settled("/gzip/50000");
    assert.match(cacheStatus(again), /^holdfast; hit/);
    assert.deepEqual(await bytesOf(again), text);
    assert.equal(text.length, 50_000);
    await remember("gzip", text);
    done("coded content, decoded");

    // More requests at once than undici keeps connections, twice, so that connections are reused.
    for (let round = 0; round < 2; round += 1) {
        const responses = await Promise.all(Array.from({ length: 100 }, (_, i) => get(`/bytes/${2000 + (i % 7)}`).then(bytesOf)));
        responses.forEach((bytes, i) => assert.equal(bytes.length, 2000 + (i % 7)));
    }
    done("two hundred requests, a hundred at a time");

    const condition = await get("/moments?userID=harbour&page=1", { headers: { "if-none-match": first.headers.get("etag") } });
    assert.equal(condition.status, 304);
    const head = await get("/moments?userID=harbour&page=1", { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("content-length"), (await bytesOf(head)).length], [200, String(feed.length), 0]);
    const range = await get("/bytes/2000", { headers: { range: "bytes=100-199", "accept-encoding": "identity" } });
    assert.deepEqual([range.status, range.headers.get("content-range")], [206, "bytes 100-199/2000"]);
    const all = await bytesOf(await get("/bytes/2000"));
    assert.deepEqual(await bytesOf(range), all.subarray(100, 200));
    done("a condition, HEAD and a range");

    let count = 0;
    const hash = createHash("sha256");
    for await (const piece of (await get("/bytes/5000000?seed=3")).body) {
        count += piece.length;
        hash.update(piece);
    }
    assert.equal(count, 5_000_000);
    const stored = await settled("/bytes/5000000?seed=3");
    assert.match(cacheStatus(stored), /^holdfast; hit/);
    assert.equal(digest(await bytesOf(stored)), hash.digest("hex"));
    done("a stream of 5 MB, and its stored copy");

    const content = randomBytes(400_000);
    const streamed = new ReadableStream({
        pull(controller) {
            this.sent ??= 0;
            if (this.sent >= content.length) return controller.close();
            controller.enqueue(content.subarray(this.sent, this.sent + 9000));
            this.sent += 9000;
        },
    });
    for (const [body, more] of [[content, {}], [streamed, { duplex: "half" }]]) {
        const posted = await get("/upload", { method: "POST", body, ...more });
        const { bytes, sha256 } = await posted.json();
        assert.deepEqual([bytes, sha256], [content.length, digest(content)]);
    }
    const form = new FormData();
    form.append("file", new Blob([content]), "file.bin");
    const parts = JSON.stringify(await (await get("/upload/multipart", { method: "POST", body: form })).json());
    assert.ok(parts.includes(digest(content)) && parts.includes("file.bin"), parts);
    done("uploads: at once, as a stream, as a form");

    // Before the head, and in the middle of the body.
    await assert.rejects(get("/slow?milliseconds=3000&name=gone", { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
    const controller = new AbortController();
    const dripping = await get("/drip?count=20&size=5000&pause=20", { signal: controller.signal });
    const reader = dripping.body.getReader();
    await reader.read();
    controller.abort();
    await assert.rejects(reader.read(), { name: "AbortError" });
    const whole = await bytesOf(await get("/drip?count=20&size=5000&pause=20"));
    assert.equal(whole.length, 100_000);
    const kept = await settled("/drip?count=20&size=5000&pause=20");
    assert.match(cacheStatus(kept), /^holdfast; hit/);
    assert.equal(digest(await bytesOf(kept)), digest(whole));
    await remember("drip", whole);
    done("cancelled requests: other readers and the store get whole bodies");

    await assert.rejects(get("/truncated?announced=1000&sent=10").then(bytesOf));
    await assert.rejects(get("/truncated?announced=1000&sent=10&chunked=true").then(bytesOf));
    const refused = await get("/hangup");
    assert.equal(refused.status, 502);
    assert.equal(refused.headers.get("content-type"), "application/problem+json");
    assert.equal((await refused.json()).status, 502);
    done("an origin that breaks off: the client gets an error");
}

async function offline() {
    for (const [path, name] of [["/moments?userID=harbour&page=1", "feed"], ["/gzip/50000", "gzip"], ["/drip?count=20&size=5000&pause=20", "drip"]]) {
        const response = await get(path);
        assert.equal(response.status, 200);
        assert.match(cacheStatus(response), /^holdfast; hit/);
        assert.deepEqual(await bytesOf(response), await remembered(name));
    }
    const range = await get("/drip?count=20&size=5000&pause=20", { headers: { range: "bytes=99990-", "accept-encoding": "identity" } });
    assert.equal(range.status, 206);
    assert.deepEqual(await bytesOf(range), (await remembered("drip")).subarray(99_990));
    const old = await get(stale);
    assert.match(cacheStatus(old), /^holdfast; hit; ttl=-?\d+; detail=unreachable$/);
    assert.deepEqual([old.status, await old.text()], [200, "old"]);
    done("all earlier responses are served, ranges too; stale ones are marked");

    const start = performance.now();
    const missing = await get("/unknown");
    assert.deepEqual([missing.status, missing.headers.get("content-type")], [504, "application/problem+json"]);
    assert.equal((await missing.json()).status, 504);
    const truncated = await get("/truncated?announced=1000&sent=10");
    assert.equal(truncated.status, 504, "an incomplete response was not stored");
    const posted = await get("/upload", { method: "POST", body: "content" });
    assert.equal(posted.status, 504);
    assert.ok(performance.now() - start < 2000);
    done("requests that need the origin fail at once");
}

await (phase === "online" ? online() : offline());
