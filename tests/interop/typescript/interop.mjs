// Twig as the TypeScript SDK sees it: its client, over both transports, in both eras.
//
// Every check gets a server of its own and leaves it: the client closes, and the server has to end
// by itself, with success. The other SDKs do the same in `../rust` and `../python`.
//
// Usage: interop.mjs TWIG, where TWIG is the program under test.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { Visit, soon } from "./visit.mjs";

const VERSIONS = { legacy: "2025-11-25", modern: "2026-07-28" };
const INVALID_PARAMS = -32602;
const MISSING = "Missing required argument: name";
const CHANGED = "notifications/prompts/list_changed";

const checks = {
  async introducesItself(visit) {
    const client = await visit.come();
    assert.equal(client.getNegotiatedProtocolVersion(), VERSIONS[visit.era]);
    assert.equal(client.getProtocolEra(), visit.era);
    const { name, title, version } = client.getServerVersion();
    assert.deepEqual([name, title, version.length > 0], ["twig", "Twig", true]);
    const can = client.getServerCapabilities();
    assert.deepEqual([can.completions, can.prompts], [{}, { listChanged: true }]);
    await visit.leave(client);
  },

  async listsEveryPage(visit) {
    // The SDK walks the pages itself, and says so where they are more than it may.
    const hasty = await visit.come({ listMaxPages: 2 });
    await assert.rejects(hasty.listPrompts(), { code: "LIST_PAGINATION_EXCEEDED" });
    await visit.leave(hasty);
    const client = await visit.come({ listMaxPages: 3 });
    const { prompts, nextCursor } = await client.listPrompts();
    const expected = ["count", "farewell", "greet", "talk", "wave"];
    assert.deepEqual(prompts.map(named), expected.map((name) => `greetings:${name}`));
    assert.equal(nextCursor, undefined);
    const greet = prompts[2];
    assert.deepEqual([greet.title, greet.description], ["Greet", "Greet somebody"]);
    const taken = greet.arguments.map(({ name, required }) => [name, required]);
    assert.deepEqual(taken, [["name", true], ["language", false]]);
    assert.equal(greet.arguments[0].description, "Whom to greet");
    await visit.leave(client);
  },

  // What it declares beside prompts, however little that is.
  async listsTheRest(visit) {
    const client = await visit.come();
    await client.listTools();
    await client.listResources();
    await client.listResourceTemplates();
    await visit.leave(client);
  },

  async reachesPromptsThroughTools(visit) {
    const client = await visit.come();
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(named), ["list_prompts", "expand_prompt", "use_prompt", "search"]);
    // The client holds what comes back against the schema that was listed.
    const call = (name, given) => client.callTool({ name, arguments: given });
    const commands = await call("list_prompts", {});
    assert.equal(commands.structuredContent.prompts.length, 5);
    const greet = { command: ":greetings:greet", input: "language=french Ada Lovelace" };
    const got = await call("expand_prompt", greet);
    assert.deepEqual(got.structuredContent, { prompt: "Greet Ada Lovelace in french.\n" });
    const plain = await call("use_prompt", greet);
    assert.equal(plain.structuredContent, undefined);
    assert.deepEqual(plain.content, [{ type: "text", text: "Greet Ada Lovelace in french.\n" }]);
    // A loop is rendered elsewhere.
    const counted = await call("expand_prompt", { command: "count", input: "" });
    assert.equal(counted.structuredContent.prompt.trim(), "1 2 3");
    const failed = await call("expand_prompt", { command: "greet", input: "" });
    assert.equal(failed.isError, true);
    assert.ok(failed.content[0].text.startsWith(`Error: ${MISSING}\n`));
    await visit.leave(client);
  },

  async getsTextExactly(visit) {
    const client = await visit.come();
    // Values are data, whatever they look like.
    for (const name of ["Ada", 'Jõgi\n"{{ language }}" \u{1f44b}']) {
      const got = await get(client, "greet", { name, language: "estonian" });
      assert.deepEqual(texts(got), [["user", `Greet ${name} in estonian.\n`]]);
    }
    const byDefault = await get(client, "greet", { name: "Ada" });
    assert.deepEqual(texts(byDefault), [["user", "Greet Ada in english.\n"]]);
    assert.equal(byDefault.description, "Greet somebody");
    await visit.leave(client);
  },

  async getsMessagesAndLoops(visit) {
    const client = await visit.come();
    const talk = [["user", "How are you?"], ["assistant", "Very well."]];
    assert.deepEqual(texts(await get(client, "talk")), talk);
    assert.deepEqual(texts(await get(client, "count")), [["user", "1 2 3 \n"]]);
    await visit.leave(client);
  },

  async namesWhatIsMissing(visit) {
    const client = await visit.come();
    const { code, message } = await refusal(client, "greet");
    assert.deepEqual([code, message], [INVALID_PARAMS, MISSING]);
    await visit.leave(client);
  },

  // A client that can show a form is asked to: with the result, or in the legacy era with a request.
  async asksForWhatIsMissing(visit) {
    const seen = [];
    const client = await comeWithForms(visit, (form) => {
      seen.push(form);
      return { action: "accept", content: { name: "Ada" } };
    });
    const got = await get(client, "greet", { language: "french" });
    assert.deepEqual(texts(got), [["user", "Greet Ada in french.\n"]]);
    assert.equal(seen.length, 1);
    assert.equal(seen[0].message, "`greetings:greet` needs a value to continue");
    assert.deepEqual(Object.keys(seen[0].requestedSchema.properties), ["name"]);
    const given = { command: "greet", input: "language=estonian" };
    const used = await client.callTool({ name: "use_prompt", arguments: given });
    assert.equal(used.content[0].text, "Greet Ada in estonian.\n");
    await leaveAfterAnswer(visit, client);
  },

  async takesNoForAnAnswer(visit) {
    const client = await comeWithForms(visit, () => ({ action: "decline" }));
    const { code, message } = await refusal(client, "greet");
    assert.deepEqual([code, message], [INVALID_PARAMS, MISSING]);
    await leaveAfterAnswer(visit, client);
  },

  async suggestsANearName(visit) {
    const client = await visit.come();
    // The second one is not ASCII, which modern HTTP has to put in a header nevertheless.
    for (const name of ["gret", "gréet"]) {
      const { code, message, data } = await refusal(client, name);
      assert.deepEqual([code, message], [INVALID_PARAMS, `Prompt not found: greetings:${name}`]);
      assert.deepEqual(data.suggestions, ["greetings:greet"]);
    }
    await visit.leave(client);
  },

  async completesChoices(visit) {
    const client = await visit.come();
    const ref = { type: "ref/prompt", name: "greetings:greet" };
    const found = await client.complete({ ref, argument: { name: "language", value: "e" } });
    const expected = { values: ["english", "estonian"], total: 2, hasMore: false };
    assert.deepEqual(found.completion, expected);
    await visit.leave(client);
  },

  // Unasked in the legacy era, on a subscription in the modern one.
  async tellsOfANewPrompt(visit) {
    let tell;
    const told = new Promise((resolve) => (tell = resolve));
    const listen = (client) => client.setNotificationHandler(CHANGED, tell);
    const client = await visit.come({}, listen);
    const before = (await client.listPrompts()).prompts.map(named);
    const open = () => client.listen({ promptsListChanged: true });
    const [first, second] = visit.era === "modern" ? [await open(), await open()] : [];
    if (first) assert.deepEqual(first.honoredFilter, { promptsListChanged: true });
    visit.addPrompt();
    assert.equal((await soon(told, "a change")).method, CHANGED);
    const after = (await client.listPrompts()).prompts.map(named);
    assert.deepEqual(after.filter((name) => !before.includes(name)), ["greetings:later"]);
    if (!first) return visit.leave(client);
    // One ends for the client, the other with the server; over stdio the SDK gives no way to end
    // the server and hear its last words.
    await first.close();
    assert.equal(await soon(first.closed, "an end"), "local");
    if (visit.over === "stdio") return visit.leave(client);
    await visit.terminate();
    assert.equal(await soon(second.closed, "an end"), "graceful");
    await client.close();
  },

  async wantsTheToken(visit) {
    const url = await visit.serve("open-sesame");
    for (const token of [undefined, "close-sesame"]) {
      const client = visit.client();
      const transport = new StreamableHTTPClientTransport(url, { authProvider: { token: () => token } });
      await assert.rejects(client.connect(transport), { name: "UnauthorizedError" });
    }
    // It complained of what it then failed for.
    visit.complaints = [];
    const client = visit.client();
    const authProvider = { token: () => "open-sesame" };
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
    assert.equal((await client.listPrompts()).prompts.length, 5);
    await visit.leave(client);
  },
};

const named = ({ name }) => name;

const texts = ({ messages }) => messages.map(({ role, content }) => [role, content.text]);

const get = (client, name, values = {}) =>
  client.getPrompt({ name: `greetings:${name}`, arguments: values });

async function refusal(client, name) {
  const got = await get(client, name).catch((error) => error);
  assert.ok(got instanceof Error, `no refusal: ${JSON.stringify(got)}`);
  return got;
}

function comeWithForms(visit, answer) {
  const handle = (client) =>
    client.setRequestHandler("elicitation/create", ({ params }) => answer(params));
  return visit.come({ capabilities: { elicitation: { form: {} } } }, handle);
}

// The SDK complains if it is closed before its POST with the answer to a form has come back.
async function leaveAfterAnswer(visit, client) {
  await client.listPrompts();
  await visit.leave(client);
}

let failed = 0;
for (const over of ["stdio", "http"]) {
  for (const era of ["legacy", "modern"]) {
    const fitting = Object.entries(checks).filter(([name]) => over === "http" || name !== "wantsTheToken");
    for (const [name, check] of fitting) {
      const visit = new Visit(over, era);
      try {
        await soon(check(visit), "its end");
        assert.deepEqual(visit.complaints, []);
      } catch (error) {
        failed += 1;
        console.log(`FAILED typescript ${over} ${era} ${name}`, error);
      } finally {
        visit.clean();
      }
    }
    console.log(`typescript ${over} ${era}: ${fitting.length} checks`);
  }
}
console.log(failed ? `typescript: ${failed} failed` : "typescript: all passed");
// A check that failed may have left a connection open.
process.exit(failed ? 1 : 0);
