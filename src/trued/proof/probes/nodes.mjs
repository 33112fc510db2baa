// Runs inside the sandbox: starts Node's own test runner, in one process for each file, and reports how every test ended.
// Only Node's own modules are loaded here, nothing of the project. It runs in the Node that the project uses.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { run } from 'node:test';

const MOST_TEXT = 4000; // characters of one failure; the rest is in the output
const MOST_BYTES = 64 * 2 ** 20; // bytes of one list of loaded files

const order = JSON.parse(fs.readFileSync(0, 'utf8'));
const channel = Number(process.env.TRUED_CHANNEL);
delete process.env.TRUED_CHANNEL;
process.execArgv = order.options;

function say(record) {
  const line = Buffer.from(`${order.nonce} ${JSON.stringify(record)}\n`);
  for (let at = 0; at < line.length; ) at += fs.writeSync(channel, line, at);
}

function text(error) {
  const cause = error?.cause ?? error;
  return (typeof cause === 'string' ? cause : inspect(cause)).slice(-MOST_TEXT);
}

function outcome(event) {
  if (event.data.todo !== undefined && event.data.todo !== false) return 'todo';
  if (event.data.skip !== undefined && event.data.skip !== false) return 'skipped';
  return event.type === 'test:pass' ? 'passed' : 'failed';
}

// Runs one file in a process of its own. `tell` is called with each test; `way` has the names of the groups around it,
// from the outermost, and its own name.
async function play(file, tell) {
  const place = path.join(order.room, file);
  const above = [];
  let errors = '';
  for await (const event of run({ files: [place], concurrency: 1 })) {
    const data = event.data ?? {};
    if (event.type === 'test:start') above[data.nesting] = data.name;
    if (event.type === 'test:stderr') errors = (errors + data.message).slice(-MOST_TEXT);
    if (event.type === 'test:stderr' || event.type === 'test:stdout') process.stderr.write(String(data.message));
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const itself = data.nesting === 0 && path.resolve(order.start, data.name) === place;
    const error = data.details?.error;
    tell({
      way: itself ? [] : [...above.slice(0, data.nesting), data.name],
      group: data.details?.type === 'suite',
      inner: error?.failureType === 'subtestsFailed',
      outcome: outcome(event),
      text: event.type === 'test:fail' ? (itself ? errors || text(error) : text(error)) : '',
      seconds: (data.details?.duration_ms ?? 0) / 1000,
    });
  }
}

// Replaces a file by its copy that must fail, runs it, and restores the file.
async function playCopy({ file, content }) {
  const place = path.join(order.room, file);
  const original = fs.readFileSync(place);
  fs.writeFileSync(place, content);
  try {
    await play(file, (record) => say({ copied: file, ...record }));
  } finally {
    fs.writeFileSync(place, original);
  }
}

async function all(files) {
  const waiting = [...files];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const own = file;
      await play(own, (record) => say({ test: own, ...record }));
      say({ played: own });
    }
  };
  const many = Math.max(1, Math.min(order.workers, os.cpus().length));
  await Promise.all(Array.from({ length: many }, worker));
}

function loaded(folder) {
  const found = new Set();
  for (const name of fs.readdirSync(folder)) {
    const place = path.join(folder, name);
    if (!name.endsWith('.json') || fs.statSync(place).size > MOST_BYTES) continue;
    try {
      for (const { url } of JSON.parse(fs.readFileSync(place, 'utf8')).result) {
        if (url.startsWith('file:')) found.add(fileURLToPath(url));
      }
    } catch {
      continue; // the file is incomplete, or was not written by Node
    }
  }
  return [...found].filter((one) => one.startsWith(order.room + path.sep)).slice(0, 5000);
}

say({ started: true });
if (order.loaded) process.env.NODE_V8_COVERAGE = order.loaded;
await all(order.files);
delete process.env.NODE_V8_COVERAGE;
if (order.loaded && fs.existsSync(order.loaded)) say({ ran: loaded(order.loaded) });
// Canaries and copies run last, and one after the other, so that a second run of the same tests cannot disturb the first.
const chosen = order.options.some((one) => one.startsWith('--test-name-pattern'));
for (const { file, name } of order.canaries) {
  // If the command chooses tests by name or by `only`, choose the canaries, too.
  process.execArgv = [...order.options, ...(chosen ? [`--test-name-pattern=${name}`] : [])].filter((one) => one !== '--test-only');
  await play(file, (record) => say({ canary: file, ...record }));
}
process.execArgv = order.options;
for (const copy of order.copies) await playCopy(copy);
say({ ended: 0, versions: { node: process.version } });
process.exit(0);
