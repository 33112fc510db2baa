// Reads the text that a person can see on a page: text that is rendered, has a size, is not transparent and is not
// placed outside the page. `shown` is the text as style sheets change it (upper case), `meant` as the page writes it.
(() => {
  const shown = [], meant = [];
  const say = (text, as) => { meant.push(text); shown.push(as ?? text); };
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
        if (style.contentVisibility === "hidden" || parseFloat(style.fontSize) < 1 || ![...range.getClientRects()].some(inPage)) continue;
        part(parent);
        say(one.data, styled(one.data, style));
      } else if (one.nodeType === Node.ELEMENT_NODE) element(one);
    }
  };
  const element = (one) => {
    const name = one.localName;
    if (["script", "style", "template", "noscript", "head", "title", "option"].includes(name)) return;
    if (name === "br" || name === "hr") { say("\n"); last = null; return; }
    if (["input", "textarea", "select"].includes(name)) {
      if (seen(one) && inPage(one.getBoundingClientRect())) { say("\n"); say(field(one)); say("\n"); last = null; }
      return;
    }
    if (name === "iframe") {
      let inner = null;
      try { inner = one.contentDocument; } catch {}
      if (inner && inner.body && seen(one) && inPage(one.getBoundingClientRect())) { say("\n"); walk(inner.body); say("\n"); }
      return;
    }
    if (name === "details" && !one.open) { // only the heading of a closed element is visible
      const heading = [...one.children].find((child) => child.localName === "summary");
      if (heading) walk(heading);
      return;
    }
    if (one.shadowRoot) walk(one.shadowRoot); // children that it shows in a slot are read below
    walk(one);
  };
  if (document.body) walk(document.body);
  return { shown: shown.join(""), meant: meant.join(""), title: document.title };
})()
