// Echoes the cookies as Node's module 'cookie' reads them, which Express uses. Prints its port.
"use strict";

const http = require("node:http");
const cookie = require("cookie");

const server = http.createServer((request, response) => {
  const raw = request.headers.cookie;
  response.setHeader("Content-Type", "application/json");
  response.setHeader("Cache-Control", "public, max-age=60");
  response.end(
    JSON.stringify({
      raw: raw === undefined ? null : Buffer.from(raw, "latin1").toString("base64"),
      cookies: cookie.parse(raw ?? ""),
    }),
  );
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
