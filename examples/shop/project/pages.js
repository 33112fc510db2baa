// Every page as a string of HTML. Whatever comes from data goes through `escape`.
import { price } from "./products.js";

export const AT_ONCE = 4; // teas on a collection page before anybody asks for more

const escape = (text) =>
  String(text).replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char]);

const layout = (title, body) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/shop.css">
<script type="module" src="/assets/collection.js"></script>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;

export const points = (tea) => `<p class="points" data-cents="${tea.cents}">+ loyalty points</p>`;

export const card = (tea) => `<li class="card">
<h2><a href="/quick-view/${escape(tea.id)}">${escape(tea.name)}</a></h2>
<p>${escape(tea.about)}</p>
<p class="price">${price(tea.cents)}</p>
${points(tea)}
</li>`;

export const collection = (teas) =>
  layout(
    "All teas",
    `<h1>All teas</h1>
<ul id="cards">
${teas.slice(0, AT_ONCE).map(card).join("\n")}
</ul>
<button id="more" data-from="${AT_ONCE}" data-of="${teas.length}">Load more</button>`,
  );

export const quickView = (tea) =>
  layout(
    tea.name,
    `<article class="quick-view">
<h1>${escape(tea.name)}</h1>
<p>${escape(tea.about)}</p>
<p class="price">${price(tea.cents)}</p>
${points(tea)}
<button>Add to cart</button>
</article>`,
  );

export const notFound = () => layout("Not found", "<h1>There is no such page</h1>");
