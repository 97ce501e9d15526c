// A home with a small library, its server, and how a client comes to it and leaves.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";

const TWIG = resolve(process.argv[2]);
// What all the SDKs' homes hold.
const FILES = readFileSync(new URL("../home.txt", import.meta.url), "utf8");
// Long enough for a slow machine; waits end as soon as what they wait for is there.
const PATIENCE = 30_000;

/** What comes within the deadline. */
export function soon(work, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come in time`)), PATIENCE);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

export class Visit {
  constructor(over, era) {
    Object.assign(this, { over, era, home: mkdtempSync(join(tmpdir(), "twig-interop-")) });
    this.complaints = [];
    // Nothing of the outer environment but what starts a program.
    this.env = { HOME: this.home, TMPDIR: this.home, TWIG_DATA_DIR: join(this.home, "prompts") };
    for (const file of FILES.split("//- ").slice(1)) {
      const [path, ...lines] = file.split("\n");
      this.write(path, lines.join("\n"));
    }
  }

  write(path, text) {
    mkdirSync(dirname(join(this.home, path)), { recursive: true });
    writeFileSync(join(this.home, path), text);
  }

  addPrompt() {
    this.write("prompts/greetings/prompts/later.md", "See you later!\n");
    // In one write, so that no half of it is ever read.
    appendFileSync(join(this.home, "prompts/greetings/twig.toml"), "[prompts.later]\n");
  }

  /** Starts a server and comes in; `prepare` sees the client before it connects. */
  async come(options = {}, prepare = () => {}) {
    const client = this.client(options);
    prepare(client);
    if (this.over === "http") {
      const url = await this.serve();
      await client.connect(new StreamableHTTPClientTransport(url));
      return client;
    }
    // The SDK starts the process and hides its exit code, so a shell notes it.
    const parameters = { command: "sh", args: ["-c", '"$0" serve; echo $? >status', TWIG] };
    await client.connect(new StdioClientTransport({ ...parameters, env: this.env, cwd: this.home }));
    // The SDK asks a process of its own for the era; what that one left does not count.
    rmSync(join(this.home, "status"), { force: true });
    return client;
  }

  /** Starts a server over HTTP; gives its address. */
  async serve(token) {
    const env = token ? { ...this.env, TWIG_TOKEN: token } : this.env;
    const stdio = ["ignore", "ignore", "pipe"];
    this.server = spawn(TWIG, ["serve", "--http", "127.0.0.1:0"], { env, cwd: this.home, stdio });
    this.exited = once(this.server, "exit");
    for await (const line of createInterface({ input: this.server.stderr })) {
      if (line.startsWith("http://")) return new URL(line);
    }
    throw new Error("the server ended");
  }

  /** A client that opens with `initialize`, or with `server/discover` and nothing else. */
  client(options = {}) {
    const mode = this.era === "legacy" ? "legacy" : { pin: "2026-07-28" };
    const who = { name: "twig-interop", version: "0" };
    const client = new Client(who, { ...options, versionNegotiation: { mode } });
    // What the SDK does not fail for, it says here; that it gave up reading itself is no news.
    client.onerror = (error) => error.name === "AbortError" || this.complaints.push(error.message);
    return client;
  }

  /** Closes the client. Over stdio that ends the server; over HTTP it has to be told. */
  async leave(client) {
    await client.close();
    if (this.over === "stdio") {
      assert.equal(readFileSync(join(this.home, "status"), "utf8"), "0\n");
    } else {
      await this.terminate();
    }
  }

  async terminate() {
    this.server.kill("SIGTERM");
    assert.deepEqual(await soon(this.exited, "the server's end"), [0, null]);
  }

  /** Leaves nothing behind, however the check went. */
  clean() {
    this.server?.kill("SIGKILL");
    rmSync(this.home, { recursive: true, force: true });
  }
}
