const { describe, it } = require('node:test');
const assert = require('node:assert');
const { seconds } = require('../lib/time.js');

describe('seconds', () => {
  it('reads minutes', () => {
    assert.strictEqual(seconds('2m'), 120);
  });

  it('reads hours and minutes', () => {
    assert.strictEqual(seconds('1h30m'), 5400);
  });

  it('refuses the rest', () => {
    assert.throws(() => seconds('soon'), RangeError);
  });
});
