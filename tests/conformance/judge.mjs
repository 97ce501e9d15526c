// Compares what the conformance suite found with what is expected to fail.
//
// usage: node judge.mjs TOOLS EXPECTED EXTENSIONS REVISION...
//
// EXTENSIONS are the scenarios that no revision asks for, with commas between them. They skip what a
// server does not declare, so one that skips everything has not been passed.
//
// A failure or a warning is expected when `EXPECTED` has its `scenario:check` and its message contains
// the text there. So an entry excuses the failure that it was written for, not whatever breaks later
// under the same name. An entry has to be of use in every revision whose set has its scenario.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, expectedFile, extensionList, ...revisions] = process.argv.slice(2);
const extensions = extensionList.split(',');
const { parse } = createRequire(path.resolve(tools, 'package.json'))('yaml');
const suite = path.join(tools, 'node_modules/@modelcontextprotocol/conformance');

const expected = Object.entries(parse(fs.readFileSync(expectedFile, 'utf8')));
const wrong = [];
const known = new Set();

for (const revision of revisions) {
  const scenarios = scenariosOf(revision);
  const results = resultsOf(revision);
  const used = new Set();
  const count = { passed: 0, expected: 0, skipped: 0 };
  for (const scenario of scenarios) {
    known.add(scenario);
    const checks = results.get(scenario);
    if (!checks?.length) wrong.push(`${revision} ${scenario} did not run`);
    else if (extensions.includes(scenario) && !checks.some((check) => check.status === 'SUCCESS')) {
      wrong.push(`${revision} ${scenario} passed nothing`);
    }
    for (const check of checks ?? []) {
      if (check.status === 'INFO') continue;
      if (check.status === 'SUCCESS') count.passed += 1;
      else if (check.status === 'SKIPPED') count.skipped += 1;
      else {
        const name = `${scenario}:${check.id}`;
        const message = (check.errorMessage ?? '').split('\n')[0];
        const entry = expected.find(([key, text]) => key === name && message.includes(text));
        if (entry) {
          used.add(entry);
          count.expected += 1;
        } else wrong.push(`${revision} ${name} failed: ${message}`);
      }
    }
  }
  for (const entry of expected) {
    if (scenarios.has(scenarioOf(entry)) && !used.has(entry)) {
      wrong.push(`${revision} ${entry[0]} was expected to fail with "${entry[1]}"`);
    }
  }
  console.log(
    `${revision} over HTTP: ${scenarios.size} scenarios; ${count.passed} checks passed, ` +
      `${count.expected} failed as expected, ${count.skipped} skipped`,
  );
}
for (const entry of expected) {
  if (!known.has(scenarioOf(entry))) wrong.push(`${entry[0]} is expected to fail, but no set has that scenario`);
}
for (const line of wrong) console.log(`  ${line}`);
if (wrong.length > 0) {
  console.log(`  see ${path.relative('.', path.join(tools, 'results'))} for the whole story`);
  process.exit(1);
}

function scenarioOf([name]) {
  return name.split(':')[0];
}

// What a revision asks of servers. What is not scored counts here, too.
function scenariosOf(revision) {
  const set = parse(fs.readFileSync(path.join(suite, 'requirements', `${revision}.yaml`), 'utf8'));
  const others = (set.not_scored ?? []).filter((entry) => entry.leg === 'server');
  return new Set([...set.server, ...others.map((entry) => entry.scenario), ...extensions]);
}

function resultsOf(revision) {
  const folder = path.join(tools, 'results', revision);
  const results = new Map();
  for (const name of fs.readdirSync(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    const checks = path.join(folder, name, 'checks.json');
    if (scenario && fs.existsSync(checks)) results.set(scenario, JSON.parse(fs.readFileSync(checks, 'utf8')));
  }
  return results;
}
