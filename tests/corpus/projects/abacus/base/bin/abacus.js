#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const [command] = process.argv.slice(2);
const text = readFileSync(0, 'utf8');

if (command === 'count') {
  console.log(text.split('\n').filter(Boolean).length);
} else {
  console.error(`no command: ${command}`);
  process.exit(2);
}
