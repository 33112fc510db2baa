// The shop's server: pages, the cards that are loaded later, and files under assets/.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

import { card, collection, notFound, quickView } from "./pages.js";
import { find, teas } from "./products.js";

const KINDS = { css: "text/css", js: "text/javascript" };

async function answer(url) {
  if (url.pathname === "/health") return [200, "text/plain", "ok"];
  if (url.pathname === "/collections/tea") return [200, "text/html", collection(teas)];
  if (url.pathname === "/cards") {
    const from = Number(url.searchParams.get("from")) || 0;
    const to = Number(url.searchParams.get("to")) || teas.length;
    return [200, "text/html", teas.slice(from, to).map(card).join("\n")];
  }
  const [, tea] = url.pathname.match(/^\/quick-view\/([a-z-]+)$/) ?? [];
  if (find(tea)) return [200, "text/html", quickView(find(tea))];
  const [, file, kind] = url.pathname.match(/^\/assets\/([a-z-]+\.(css|js))$/) ?? [];
  if (file) {
    const content = await readFile(new URL(`assets/${file}`, import.meta.url)).catch(() => null);
    if (content) return [200, KINDS[kind], content];
  }
  return [404, "text/html", notFound()];
}

export function serve(port) {
  const server = createServer(async (request, response) => {
    const [status, kind, body] = await answer(new URL(request.url, "http://shop"));
    response.writeHead(status, { "Content-Type": `${kind}; charset=utf-8` }).end(body);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await serve(Number(process.env.PORT ?? 8000));
  console.log(`http://127.0.0.1:${server.address().port}/collections/tea`);
}
