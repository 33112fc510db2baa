const test = require('node:test');
const assert = require('node:assert');
const text = require('../lib/text.js');

test('upper', () => {
  assert.strictEqual(text.upper('ink'), 'INK');
});

test('cut', () => {
  assert.strictEqual(text.cut('a long line', 7), 'a long…');
});
