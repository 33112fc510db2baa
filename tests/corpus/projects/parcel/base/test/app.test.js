const test = require('node:test');
const assert = require('node:assert');
const { respond } = require('../app.js');

test('health', () => {
  assert.strictEqual(respond('GET', '/health', '', new Map()).status, 200);
});

test('put and get', () => {
  const parcels = new Map();
  assert.strictEqual(respond('PUT', '/parcels/a1', '{"kg": 2}', parcels).status, 201);
  assert.deepStrictEqual(JSON.parse(respond('GET', '/parcels/a1', '', parcels).body), { id: 'a1', kg: 2 });
});
