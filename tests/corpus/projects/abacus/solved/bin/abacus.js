#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const [command] = process.argv.slice(2);
const lines = readFileSync(0, 'utf8').split('\n').filter((line) => line.trim());

function numbers() {
  return lines.map((line, place) => {
    const number = Number(line);
    if (!Number.isFinite(number)) {
      console.error(`line ${place + 1} is no number: ${line}`);
      process.exit(1);
    }
    return number;
  });
}

if (command === 'count') {
  console.log(lines.length);
} else if (command === 'sum') {
  console.log(numbers().reduce((sum, one) => sum + one, 0));
} else if (command === 'stats') {
  const all = numbers();
  const sum = all.reduce((total, one) => total + one, 0);
  const some = all.length > 0;
  console.log(
    JSON.stringify({
      count: all.length,
      min: some ? Math.min(...all) : null,
      max: some ? Math.max(...all) : null,
      mean: some ? sum / all.length : null,
    }),
  );
} else {
  console.error(`no command: ${command}`);
  process.exit(2);
}
