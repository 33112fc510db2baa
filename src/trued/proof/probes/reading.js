// Reads the text that a person can see on a page: text that is rendered, has a size, is not transparent and is not
// placed outside the page. `shown` is the text as style sheets change it (upper case), `meant` as the page writes it.
// Both are lists of pieces. `places` has [number of the piece, its boxes on the page] for each piece that must be on the
// page's picture, too; `globalThis.drawn` keeps the elements that draw these pieces. `added` is what style sheets write.
(() => {
  const shown = [], meant = [], places = [], drawn = [], added = [];
  const say = (text, as) => { meant.push(text); shown.push(as ?? text); };
  let [left, top] = [scrollX, scrollY]; // where the document that is being read begins on the page
  const draw = (element, boxes) => {
    drawn.push(element);
    places.push([shown.length - 1, boxes.map((box) => [box.left + left, box.top + top, box.width, box.height])]);
  };
  const written = (element, part) => {
    const style = getComputedStyle(element, part);
    const texts = style.display === "none" || style.visibility !== "visible" ? [] : style.content.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
    added.push(...texts.map((one) => one.slice(1, -1)));
  };
  const styled = (text, style) => style.textTransform === "uppercase" ? text.toUpperCase()
    : style.textTransform === "lowercase" ? text.toLowerCase()
    : style.textTransform === "capitalize" ? text.replace(/(^|\s)\S/g, (one) => one.toUpperCase()) : text;
  const inPage = (box) => box.width > 0 && box.height > 0 && box.right + scrollX > 0 && box.bottom + scrollY > 0;
  const seen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const block = (element) => {
    while (element.parentElement && getComputedStyle(element).display.startsWith("inline")) element = element.parentElement;
    return element;
  };
  let last = null;
  const part = (element) => { const here = block(element); if (here !== last) say("\n"); last = here; };
  const field = (element) => {
    if (element.type === "password" || element.type === "hidden" || element.type === "file") return "";
    if (element.localName === "select") return [...element.selectedOptions].map((one) => one.label).join(" ");
    if (element.localName === "input" && (element.type === "checkbox" || element.type === "radio")) return "";
    return element.value || element.placeholder || "";
  };
  const walk = (node) => {
    for (const one of node.childNodes) {
      if (one.nodeType === Node.TEXT_NODE) {
        const parent = one.parentElement ?? one.getRootNode().host;
        if (!parent || !one.data.trim() || !seen(parent)) { if (one.data) say(" "); continue; }
        const style = getComputedStyle(parent), range = new Range();
        range.selectNodeContents(one);
        const boxes = [...range.getClientRects()].filter(inPage);
        if (style.contentVisibility === "hidden" || parseFloat(style.fontSize) < 1 || !boxes.length) continue;
        part(parent);
        say(one.data, styled(one.data, style));
        draw(parent, boxes);
      } else if (one.nodeType === Node.ELEMENT_NODE) element(one);
    }
  };
  const element = (one) => {
    const name = one.localName;
    if (["script", "style", "template", "noscript", "head", "title", "option"].includes(name)) return;
    if (name === "br" || name === "hr") { say("\n"); last = null; return; }
    if (["input", "textarea", "select"].includes(name)) {
      const box = one.getBoundingClientRect();
      if (seen(one) && inPage(box)) { say("\n"); say(field(one)); draw(one, [box]); say("\n"); last = null; }
      return;
    }
    if (name === "iframe") {
      let inner = null;
      try { inner = one.contentDocument; } catch {}
      const box = one.getBoundingClientRect(), around = [left, top];
      if (inner && inner.body && seen(one) && inPage(box)) {
        [left, top] = [left + box.left + one.clientLeft, top + box.top + one.clientTop];
        say("\n"); walk(inner.body); say("\n");
        [left, top] = around;
      }
      return;
    }
    if (name === "details" && !one.open) { // only the heading of a closed element is visible
      const heading = [...one.children].find((child) => child.localName === "summary");
      if (heading) walk(heading);
      return;
    }
    if (seen(one)) for (const part of ["::before", "::after", "::marker"]) written(one, part);
    if (one.shadowRoot) walk(one.shadowRoot); // children that it shows in a slot are read below
    walk(one);
  };
  if (document.body) walk(document.body);
  globalThis.drawn = drawn;
  return { shown, meant, places, added, title: document.title };
})()
