// Runs inside the sandbox: calls one function of the project and says what came back, as data and by exact kinds.
//
// No expected value ever reaches it. It gets one case as file 3 and answers with one line on file 4. Whatever it needs
// is taken hold of before the project's code is loaded: nothing that the project does to the language changes how its
// values are written down. What an object says of itself (toJSON, valueOf, equality) is not asked.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";

const MOST_NODES = 20000;
const DEEPEST = 60;
const { Buffer, Date, Error, Map, Number, Object, RegExp, Set, String, Uint8Array } = globalThis;
const bufferFrom = Buffer.from.bind(Buffer);
const exit = process.reallyExit.bind(process);
const { readFileSync, writeSync, existsSync, statSync } = fs;
const { apply } = Reflect;
const { isArray } = Array;
const { defineProperty, getPrototypeOf, keys: keysOf, prototype: ofObject } = Object;
const call = Function.prototype.call;
const bound = (method) => call.bind(method);
const said = { text: String, json: JSON.stringify, parse: JSON.parse };
const zone = bound(Object.prototype.toString);
const own = bound(Object.prototype.hasOwnProperty);
const push = bound(Array.prototype.push);
const iso = bound(Date.prototype.toISOString);
const time = bound(Date.prototype.getTime);
const source = bound(RegExp.prototype.toString);
const hex = bound(BigInt.prototype.toString);
const eachOfMap = bound(Map.prototype.forEach);
const eachOfSet = bound(Set.prototype.forEach);
const slice = bound(String.prototype.slice);
const starts = bound(String.prototype.startsWith);
const test = bound(RegExp.prototype.test);
const typedTag = bound(Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
const typedLength = bound(Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), "length").get);
const { isNaN: NotANumber, isSafeInteger: whole } = Number;
const digits = bound(Number.prototype.toString);
const hasInstance = bound(Function.prototype[Symbol.hasInstance]);
const { isProxy, isDate, isMap, isSet, isRegExp, isTypedArray, isAnyArrayBuffer, isGeneratorObject, isNativeError } = types;
const { isMapIterator, isSetIterator, isBoxedPrimitive, isModuleNamespaceObject } = types;
const LAZY = /^\[object (Array|Map|Set|String|RegExp String|Segment) Iterator\]$|^\[object (Generator|Iterator Helper)\]$/;

// -- values as data ---------------------------------------------------------------------------------------------------

function build(data) {
  if (isArray(data)) return data.map(build);
  if (data === null || typeof data !== "object") return data;
  const names = keysOf(data);
  if (names.length === 1) {
    const [tag] = names;
    if (tag === "$set") return new Set(data[tag].map(build));
    if (tag === "$bytes") return new Uint8Array(Buffer.from(data[tag], "utf8"));
    if (tag === "$float") return number(data[tag]);
  }
  const made = {};
  for (const name of names) {
    defineProperty(made, name, { value: build(data[name]), writable: true, enumerable: true, configurable: true });
  }
  return made;
}

function number(text) {
  const plain = said.text(text).trim().toLowerCase();
  const known = { nan: NaN, inf: Infinity, "+inf": Infinity, "-inf": -Infinity, infinity: Infinity, "-infinity": -Infinity };
  return plain in known ? known[plain] : Number(plain);
}

let nodes = 0;

function render(value, depth) {
  nodes += 1;
  if (nodes > MOST_NODES || depth > DEEPEST) return ["o", "too large or too deep"];
  switch (typeof value) {
    case "undefined":
      return ["o", "undefined"];
    case "boolean":
    case "string":
      return value;
    case "number":
      return whole(value) ? ["i", digits(value, 16)] : ["f", float(value)];
    case "bigint":
      return ["i", hex(value, 16)];
    case "object":
      return value === null ? null : container(value, depth + 1);
    default:
      return ["o", typeof value];
  }
}

function float(value) {
  if (NotANumber(value)) return "nan";
  return value === Infinity ? "inf" : value === -Infinity ? "-inf" : said.text(value);
}

function container(value, depth) {
  if (isProxy(value)) return ["o", "Proxy"]; // it could answer differently each time that it is asked
  if (isArray(value)) {
    const list = ["l"];
    for (let place = 0; place < value.length && nodes <= MOST_NODES; place += 1) push(list, render(value[place], depth));
    return list;
  }
  if (isMap(value)) {
    const pairs = ["d"];
    eachOfMap(value, (one, key) => push(pairs, [render(key, depth), render(one, depth)]));
    return pairs;
  }
  if (isSet(value)) {
    const members = ["s"];
    eachOfSet(value, (one) => push(members, render(one, depth)));
    return members;
  }
  return special(value, depth) ?? fields(value, depth);
}

function special(value, depth) {
  if (isDate(value)) return ["o", NotANumber(time(value)) ? "Date invalid" : `Date ${iso(value)}`];
  if (isRegExp(value)) return ["o", `RegExp ${source(value)}`];
  if (isAnyArrayBuffer(value)) return bytes(new Uint8Array(value));
  if (isTypedArray(value)) return typedTag(value) === "Uint8Array" ? bytes(value) : numbers(value, depth);
  if (isNativeError(value) || hasInstance(Error, value)) return ["o", lineage(value)[0] ?? "Error"];
  if (isBoxedPrimitive(value)) return ["o", slice(zone(value), 8, -1)];
  const lazy = isGeneratorObject(value) || isMapIterator(value) || isSetIterator(value) || test(LAZY, zone(value));
  return lazy ? drained(value, depth) : null;
}

function bytes(view) {
  let text = "";
  for (let place = 0; place < typedLength(view); place += 1) text += (view[place] < 16 ? "0" : "") + digits(view[place], 16);
  return ["b", text];
}

function numbers(view, depth) {
  const list = ["l"];
  for (let place = 0; place < typedLength(view) && nodes <= MOST_NODES; place += 1) push(list, render(view[place], depth));
  return list;
}

function drained(value, depth) {
  const list = ["g"];
  for (let next = value.next(); !next.done && nodes <= MOST_NODES; next = value.next()) push(list, render(next.value, depth));
  return list;
}

function fields(value, depth) {
  const pairs = ["d"];
  const names = keysOf(value);
  for (let place = 0; place < names.length && nodes <= MOST_NODES; place += 1) {
    push(pairs, [names[place], render(value[names[place]], depth)]);
  }
  return pairs;
}

function lineage(error) {
  const names = [];
  for (let one = error; one !== null && one !== ofObject && names.length < 32; one = getPrototypeOf(one)) {
    const made = own(one, "constructor") ? one.constructor?.name : undefined;
    if (typeof made === "string" && made && !names.includes(made)) push(names, made);
  }
  if (typeof error.name === "string" && error.name && !names.includes(error.name)) push(names, error.name);
  return names;
}

// -- one call ---------------------------------------------------------------------------------------------------------

function missingPackage(error) {
  const code = error?.code;
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") return "";
  const match = /Cannot find (?:package|module) '([^']+)'/.exec(said.text(error.message));
  return match && !match[1].startsWith(".") && !match[1].startsWith("/") && !match[1].startsWith("file:") ? match[1] : "";
}

async function target(name, room) {
  const colon = name.lastIndexOf(":");
  const file = path.join(room, name.slice(0, colon));
  if (!existsSync(file)) return { lack: `module ${name.slice(0, colon)}` };
  const loaded = await import(pathToFileURL(file).href);
  const parts = name.slice(colon + 1).split(".");
  let [holder, found] = [undefined, loaded];
  for (const [place, part] of parts.entries()) {
    const from = found !== null && (typeof found === "object" || typeof found === "function") ? found : {};
    holder = from;
    found = from[part];
    // what a CommonJS module exports is not always told apart by name
    if (found === undefined && place === 0 && from.default != null && part !== "default") {
      holder = from.default;
      found = from.default[part];
    }
    if (found === undefined) return { lack: `${part} in ${name.slice(0, colon)}` };
  }
  if (typeof found !== "function") return { lack: `function ${name.slice(colon + 1)}` };
  return { holder: isModuleNamespaceObject(holder) ? undefined : holder, found };
}

// Files that are imported by a relative name, as their text says: Node does not tell which modules it has loaded.
function imported(first) {
  const found = new Set([first]);
  for (const file of found) {
    if (found.size > 500) break;
    let text = "";
    try {
      text = readFileSync(file, "utf8");
    } catch {
      found.delete(file);
      continue;
    }
    for (const match of text.matchAll(/(?:from|import|require)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g)) {
      const next = path.resolve(path.dirname(file), match[1]);
      for (const one of [next, `${next}.js`, `${next}.cjs`, `${next}.mjs`, `${next}.ts`, `${next}/index.js`]) {
        if (existsSync(one) && statSync(one).isFile()) found.add(one);
      }
    }
  }
  return found;
}

async function answer(order) {
  const given = build(order.args);
  let stage = "import";
  const told = { __proto__: null };
  try {
    const { lack, holder, found } = await target(order.call, order.room);
    if (lack) return { __proto__: null, missing: lack };
    stage = "call";
    told.returned = render(await apply(found, holder, given), 0);
  } catch (error) {
    const thrown = error !== null && typeof error === "object";
    told.raised = thrown ? lineage(error) : [typeof error];
    told.stage = stage;
    told.text = slice(said.text(thrown ? error.message : error), 0, 500);
    const lacking = thrown ? missingPackage(error) : "";
    if (lacking) told.module = lacking;
  }
  told.args = render(given, 0);
  told.kwargs = ["d"];
  return told;
}

// Written out by hand: JSON.stringify would ask toJSON of every prototype that the project may have changed.
function written(node) {
  if (!isArray(node)) return said.json(node);
  let text = "[";
  for (let place = 0; place < node.length; place += 1) text += (place ? "," : "") + written(node[place]);
  return `${text}]`;
}

const order = said.parse(readFileSync(3, "utf8"));
const ran = [...imported(path.join(order.room, order.call.slice(0, order.call.lastIndexOf(":"))))];
const told = await answer(order);
let line = `{"ran":${written(ran)}`;
for (const name in told) line += `,${said.json(name)}:${written(told[name])}`;
const message = bufferFrom(`${line}}\n`);
for (let from = 0; from < message.length; ) from += writeSync(4, message, from);
exit(0);
