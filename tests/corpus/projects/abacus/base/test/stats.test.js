import test from 'node:test';
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';

const abacus = (input, ...words) => spawnSync(process.execPath, ['bin/abacus.js', ...words], { input, encoding: 'utf8' });

test('stats', () => {
  assert.deepStrictEqual(JSON.parse(abacus('4\n2\n', 'stats').stdout), { count: 2, min: 2, max: 4, mean: 3 });
});
