// Starts the program of the platform package that npm picked. The program has the terminal, the pipes and the signals;
// this process waits and ends as it does.
"use strict";
const { spawn } = require("child_process");

module.exports = function launch(first) {
  const platform = `${process.platform}-${process.arch}`;
  const built = "@PLATFORMS@".split(" ");
  if (!built.includes(platform)) {
    console.error(
      `error: this version of @PACKAGE@ has no program for ${platform}, only for ${built.join(", ")}; see docs/installing.md for other ways`,
    );
    process.exit(1);
  }
  const name = `@PACKAGE@-${platform}`;
  const file = process.platform === "win32" ? "bin/twig.exe" : "bin/twig";
  let program;
  try {
    program = require.resolve(`${name}/${file}`);
  } catch {
    console.error(
      `error: the package \`${name}\` is not installed; install its file together with that of @PACKAGE@, as docs/installing.md says`,
    );
    process.exit(1);
  }
  const child = spawn(program, [...first, ...process.argv.slice(2)], { stdio: "inherit" });
  child.on("error", (error) => {
    console.error(`error: ${program} cannot be started: ${error.message}`);
    process.exit(1);
  });
  // A terminal sends its interrupt to both, and a second one would end a server at once. The others are passed on.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exit(code);
  });
};
