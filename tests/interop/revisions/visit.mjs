// What one old TypeScript SDK reads of every kind of content, as JSON: visit.mjs VERSION TWIG NAME…
const [version, twig, ...names] = process.argv.slice(2);
const { Client } = await import(`sdk-${version}/client/index.js`);
const { StdioClientTransport } = await import(`sdk-${version}/client/stdio.js`);

const transport = new StdioClientTransport({ command: twig, args: ["serve"], env: process.env });
// The SDK does not say which version was agreed on.
const seen = {};
const client = new Client({ name: "interop", version: "1" }, { capabilities: {} });
const connecting = client.connect(transport);
const take = transport.onmessage;
transport.onmessage = (message) => {
  seen.version ??= message.result?.protocolVersion;
  take(message);
};
await connecting;
for (const name of names) {
  const got = await client.getPrompt({ name, arguments: {} });
  seen[name] = got.messages.map((message) => message.content.type);
  for (const tool of ["expand_prompt", "use_prompt"]) {
    const got = await client.callTool({ name: tool, arguments: { command: name, input: "" } });
    seen[`${name} by ${tool}`] = got.isError ? ["error"] : got.content.map((part) => part.type);
  }
}
console.log(JSON.stringify(seen));
await client.close();
