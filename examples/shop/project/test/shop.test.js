import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { card } from "../pages.js";
import { find, price, teas } from "../products.js";
import { serve } from "../server.js";

let server;
const get = (path) => fetch(`http://127.0.0.1:${server.address().port}${path}`);

before(async () => (server = await serve(0)));
after(() => server.close());

test("a price has two digits behind the point", () => {
  assert.equal(price(490), "€ 4.90");
});

test("what stands on a card is escaped", () => {
  const tea = { id: "x", name: "<b>Bold</b> & \"loud\"", about: "", cents: 100 };
  assert.match(card(tea), /&lt;b&gt;Bold&lt;\/b&gt; &amp; &quot;loud&quot;/);
});

test("the collection page shows the first four teas", async () => {
  const html = await (await get("/collections/tea")).text();
  assert.equal(html.match(/class="card"/g).length, 4);
  assert.match(html, /Assam/);
  assert.doesNotMatch(html, /Rooibos/);
});

test("the other cards can be had later", async () => {
  const html = await (await get("/cards?from=4")).text();
  assert.equal(html.match(/class="card"/g).length, teas.length - 4);
});

test("every tea has a quick view", async () => {
  for (const tea of teas) {
    const answer = await get(`/quick-view/${tea.id}`);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), new RegExp(`<h1>${find(tea.id).name}</h1>`));
  }
});

test("what is not there is not found", async () => {
  assert.equal((await get("/quick-view/coffee")).status, 404);
  assert.equal((await get("/assets/../server.js")).status, 404);
});
