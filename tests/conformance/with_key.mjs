// Adds a key to every request on its way to a server: the suite cannot send one itself.
//
// usage: node with_key.mjs URL KEY     (prints its own URL)
import http from "node:http";

const [target, key] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(target);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${key}` };
  // A foreign host is for the server to refuse.
  if (headers.host === `127.0.0.1:${server.address().port}`) headers.host = `${hostname}:${port}`;
  if (headers.host === `localhost:${server.address().port}`) headers.host = `localhost:${port}`;
  if (headers.origin) headers.origin = headers.origin.replace(`:${server.address().port}`, `:${port}`);
  const options = { hostname, port, method: request.method, path: request.url, headers };
  const onward = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}${pathname}`);
});
