// Drives Twig over stdio with the MCP inspector, in both eras: list, get, complete, a prompt that asks,
// and skills whose files are what their digests say. Every call is a process of its own, as it is for
// whoever types it.
//
// usage: node stdio.mjs TOOLS TWIG LIBRARY SKILLS
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const [tools, twig, library, skills] = process.argv.slice(2);
const server = [twig, 'serve', '--library', library];
const skillServer = [twig, 'serve', '--library', skills];
// A byte-order mark, bytes that are no UTF-8, a folder in a folder: all of it is read as it is.
const skillFiles = [
  'SKILL.md',
  'references/charts/glossary.md',
  'references/harbours.md',
  'references/latin.txt',
  'references/marked.txt',
  'scripts/hours.sh',
];
const versions = { legacy: '2025-11-25', modern: '2026-07-28' };
let calls = 0;

for (const [era, version] of Object.entries(versions)) {
  // One connection for each call.
  const inspect = (method, ...options) => {
    const target = ['--protocol-era', era, '--method', method, ...options, '--', ...server];
    return run('mcp-inspector', '--cli', '--format', 'json', ...target);
  };
  const get = (prompt, ...pairs) => {
    const values = pairs.length > 0 ? ['--prompt-args', ...pairs] : [];
    return inspect('prompts/get', '--prompt-name', prompt, ...values);
  };

  assert.equal(result(inspect('initialize')).protocolVersion, version, 'the era that was asked for');

  const { prompts } = result(inspect('prompts/list'));
  const asks = 'library:test_input_required_result_prompt';
  const fills = 'library:test_prompt_with_arguments';
  const embeds = 'library:test_prompt_with_embedded_resource';
  const picture = 'library:test_prompt_with_image';
  const simple = 'library:test_simple_prompt';
  assert.deepEqual(
    prompts.map((prompt) => prompt.name),
    [asks, fills, embeds, picture, simple],
  );
  assert.deepEqual(
    prompts.find((prompt) => prompt.name === fills),
    {
      name: fills,
      title: 'Prompt with arguments',
      description: 'One message with two values that have to be given',
      arguments: [
        { name: 'arg1', description: 'First test argument', required: true },
        { name: 'arg2', description: 'Second test argument', required: true },
      ],
    },
  );

  assert.deepEqual(texts(get(simple)), ['This prompt is as simple as they come.\n']);
  for (const name of [fills, 'test_prompt_with_arguments']) {
    assert.deepEqual(texts(get(name, 'arg1=hello', 'arg2=a {{ b }} "c" ü')), [
      'First: hello. Second: a {{ b }} "c" ü.\n',
    ]);
  }
  const data = fs.readFileSync(path.join(library, 'twig.png'), 'base64');
  assert.deepEqual(result(get(picture)).messages, [
    { role: 'user', content: { type: 'image', data, mimeType: 'image/png' } },
    { role: 'user', content: { type: 'text', text: 'What is in this picture?' } },
  ]);
  assert.equal(get(fills, 'arg1=hello').error?.message, 'Missing required argument: arg2');
  assert.match(get('no_such_prompt').error?.message, /^(MCP error -32602: )?Prompt not found: no_such_prompt$/);

  // One connection for several calls: only this half of the inspector can complete, and can ask.
  const session = (...words) => run('mcpdo', '--format', 'json', '--connection', era, ...words);
  const complete = (value) => {
    const reference = ['--complete-ref-type', 'ref/prompt', '--complete-ref', fills];
    const argument = ['--complete-arg-name', 'arg1', '--complete-arg-value', value];
    return session('prompts/complete', ...reference, ...argument);
  };
  assert.equal(session('connect', '--era', era, '--elicit', 'form', '--', ...server).protocolEra, era);
  assert.deepEqual(complete('test'), { values: ['testValue1'], total: 1, hasMore: false });
  assert.deepEqual(complete(''), { values: ['hello', 'testValue1'], total: 2, hasMore: false });
  assert.deepEqual(complete('x'), { values: [], total: 0, hasMore: false });
  const { elicitationId, requestedSchema } = session('prompts/get', asks).elicitationPending;
  assert.deepEqual(requestedSchema, {
    type: 'object',
    properties: { context: { type: 'string', description: 'What the prompt is about' } },
    required: ['context'],
  });
  const completed = session('elicitation/respond', elicitationId, 'context:=rivers');
  assert.deepEqual(texts({ result: completed }), ['Keep this in mind: rivers\n']);
  session('disconnect');

  // The inspector reads every file of the skill and compares it with its digest and its size.
  const ofSkills = (method, ...options) => {
    const target = ['--protocol-era', era, '--method', method, ...options, '--', ...skillServer];
    return run('mcp-inspector', '--cli', '--format', 'json', ...target);
  };
  const folder = 'skill://skills/reading-tides';
  const report = ofSkills('skills/list', '--verify');
  assert.equal(report.uri, `${folder}/SKILL.md`);
  assert.equal(report.outcome, 'verified', JSON.stringify(report));
  assert.deepEqual([report.conformance, report.frontmatter], [[], []]);
  assert.deepEqual(
    report.files.map(({ uri, status }) => [uri, status]),
    skillFiles.map((file) => [`${folder}/${file}`, 'verified']),
  );
  const references = result(ofSkills('resources/directory/read', '--uri', `${folder}/references`)).resources;
  assert.deepEqual(
    references.map(({ uri, mimeType }) => [path.basename(uri), mimeType === 'inode/directory']),
    [
      ['charts', true],
      ['harbours.md', false],
      ['latin.txt', false],
      ['marked.txt', false],
    ],
  );
  console.log(`${version} over stdio: ${calls} calls answered as they should be`);
  calls = 0;
}

// Runs a program of the inspector and gives the JSON it printed, on stdout or, for errors, on stderr.
function run(program, ...words) {
  calls += 1;
  const file = path.join(tools, 'node_modules/.bin', program);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...words], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  const json = status === 0 ? stdout : stderr.slice(stderr.indexOf('{"error"'));
  try {
    return JSON.parse(json);
  } catch {
    assert.fail(`${program} ${words.join(' ')}\nended with ${status} and printed\n${stdout}${stderr}`);
  }
}

function result(reply) {
  assert.ok(reply.result, `a result, and not ${JSON.stringify(reply)}`);
  return reply.result;
}

function texts(reply) {
  return result(reply).messages.map(({ role, content }) => {
    assert.equal(role, 'user');
    assert.equal(content.type, 'text');
    return content.text;
  });
}
