const test = require('node:test');
const assert = require('node:assert');
const { chunk } = require('../lib/lists.js');

test('one chunk', () => {
  assert.deepStrictEqual(chunk([1, 2], 2), [[1, 2]]);
});

test('two chunks', () => {
  assert.deepStrictEqual(chunk([1, 2, 3], 2), [[1, 2], [3]]);
});
