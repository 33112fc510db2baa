import test from 'node:test';
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';

const abacus = (input, ...words) => spawnSync(process.execPath, ['bin/abacus.js', ...words], { input, encoding: 'utf8' });

test('count', () => {
  assert.strictEqual(abacus('1\n2\n', 'count').stdout, '2\n');
});

test('sum', () => {
  assert.strictEqual(abacus('1\n2\n', 'sum').stdout, '3\n');
});

test('what is no number', () => {
  assert.strictEqual(abacus('1\nx\n', 'sum').status, 1);
});
