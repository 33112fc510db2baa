// Runs inside the sandbox: calls one function of the project and reports the result, as data with exact types.
//
// No expected value ever reaches it. It reads one case from file descriptor 3 and answers with one line on 4. It keeps
// references to all built-in functions that it needs before the project's code is loaded, so that nothing that the
// project changes in the language can affect how values are rendered. Methods of the project's objects that describe or
// compare them (toJSON, valueOf) are not called.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";

const MOST_CHARACTERS = 128 * 2 ** 20; // of one answer; no expected value is as large, so a larger answer differs
const MOST_DRAWN = 1000000; // members read from one iterator, which may be endless
// What a number means in the flat list that represents a value, as in checks/values.py.
const CLOSE = "0";
const OPEN = { __proto__: null, l: "1", s: "3", d: "5", g: "7" };
const [INT, FLOAT, BYTES, OBJECT] = ["10", "11", "12", "13"];
const { Buffer, Date, Error, Map, Number, Object, RegExp, Set, String, Uint8Array } = globalThis;
const bufferFrom = Buffer.from.bind(Buffer);
const { readFileSync, writeSync, existsSync, statSync } = fs;
const { apply, ownKeys } = Reflect;
const { isArray } = Array;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, is: sameValue, keys: keysOf, prototype: ofObject } = Object;
const call = Function.prototype.call;
const bound = (method) => call.bind(method);
const said = { text: String, json: JSON.stringify, parse: JSON.parse };
const zone = bound(Object.prototype.toString);
const own = bound(Object.prototype.hasOwnProperty);
const push = bound(Array.prototype.push);
const includes = bound(Array.prototype.includes);
const pop = bound(Array.prototype.pop);
const joined = bound(Array.prototype.join);
const add = bound(Set.prototype.add);
const has = bound(Set.prototype.has);
const remove = bound(Set.prototype.delete);
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
const { isProxy, isPromise, isDate, isMap, isSet, isRegExp, isTypedArray, isAnyArrayBuffer, isGeneratorObject, isNativeError } = types;
const { isMapIterator, isSetIterator, isBoxedPrimitive, isModuleNamespaceObject } = types;
// The language's own errors. An error is one of these only if it was made by that very class, whatever its name is.
const OWN_ERRORS = { __proto__: null, Error };
for (const one of [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError]) OWN_ERRORS[one.name] = one;
const { prototype: ofArray } = Array;
const { prototype: ofMap } = Map;
const { prototype: ofSet } = Set;
const MOST_CLASSES = 100; // above one value
// Methods that nobody uses to read a value: they change it, or describe it.
const UNREAD = ["constructor", "length", "toString", "toLocaleString", "push", "unshift", "splice", "sort", "reverse", "fill", "copyWithin"];
for (const one of ["set", "add", "delete", "clear", Symbol.toStringTag, Symbol.unscopables]) push(UNREAD, one);
const reading = (kind) => ownKeys(kind).filter((one) => !UNREAD.includes(one));
const READ = { __proto__: null, array: reading(ofArray), map: reading(ofMap), set: reading(ofSet) };
const ACCESSOR = Symbol("accessor"); // stands for a property that runs code when it is read
const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const LONGEST_DECIMAL = 4000; // hexadecimal digits
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

const unfit = (why) => ({ __proto__: null, unfit: why });
let left = MOST_CHARACTERS;

// The value as JSON: a flat list, so that no value is too deep; or an object with the reason why there is none.
function render(value) {
  const pieces = [];
  const within = new Set(); // the containers around the current value
  const stack = [{ __proto__: null, whole: undefined, next: once(value) }];
  try {
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const { done, one } = top.next();
      if (done) {
        pop(stack);
        remove(within, top.whole);
        if (stack.length > 0) push(pieces, CLOSE);
        continue;
      }
      const isObject = typeof one === "object" && one !== null;
      const begun = isObject ? container(one) : { __proto__: null, text: scalar(one), next: undefined };
      push(pieces, begun.text);
      left -= begun.text.length + 1;
      if (left < 0) throw unfit("large");
      if (begun.next === undefined) continue;
      if (has(within, one)) throw unfit("cycle");
      add(within, one);
      push(stack, { __proto__: null, whole: one, next: begun.next });
    }
  } catch (error) {
    if (error === null || typeof error !== "object" || isProxy(error) || getPrototypeOf(error) !== null || !own(error, "unfit")) throw error;
    return `{"unfit":${said.json(error.unfit)}}`;
  }
  return `[${joined(pieces, ",")}]`;
}

function once(value) {
  let given = false;
  return () => {
    if (given) return { __proto__: null, done: true };
    given = true;
    return { __proto__: null, done: false, one: value };
  };
}

function scalar(value) {
  switch (typeof value) {
    case "boolean":
    case "string":
      return said.json(value);
    case "number":
      return whole(value) && !sameValue(value, -0) ? `${INT},"${digits(value, 16)}"` : `${FLOAT},"${float(value)}"`;
    case "bigint":
      return object(`BigInt ${big(value)}`);
    case "object":
      return "null";
    default:
      return object(value === ACCESSOR ? "accessor" : typeof value);
  }
}

function object(name) {
  return `${OBJECT},${said.json(name)}`;
}

// The value of an object's own property. A property that runs code may give another value each time, so it is not read.
function held(value, name) {
  const property = getOwnPropertyDescriptor(value, name);
  if (property === undefined) return name in value ? ACCESSOR : undefined; // inherited: a hole in an array
  return own(property, "value") ? property.value : ACCESSOR;
}

// An object whose name the project chose. It must not pass for undefined, which stands for a missing field, too, nor for
// a date or another value that is written as a kind and a text.
function titled(name) {
  return object(name === "undefined" || !test(NAME, name) ? `[object ${name}]` : name);
}

// A BigInt in digits; a very long one would take too long to be written as a decimal.
function big(value) {
  const digits = hex(value, 16);
  return digits.length > LONGEST_DECIMAL ? `0x${digits}` : hex(value, 10);
}

function float(value) {
  if (NotANumber(value)) return "nan";
  if (sameValue(value, -0)) return "-0.0";
  return value === Infinity ? "inf" : value === -Infinity ? "-inf" : said.text(value);
}

// The opening mark of a container and a function for its next member; for any other value, its text.
function container(value) {
  if (isProxy(value)) return alone(object("Proxy")); // a proxy could give another answer each time
  const kind = isArray(value) ? ofArray : isMap(value) ? ofMap : isSet(value) ? ofSet : undefined;
  if (kind !== undefined && overrides(value, kind)) return alone(titled(lineage(value)[0] ?? "another"));
  if (kind === ofArray) return { __proto__: null, text: OPEN.l, next: listed(value) };
  if (kind === ofMap) {
    const flat = [];
    eachOfMap(value, (one, key) => push(flat, key, one));
    return { __proto__: null, text: OPEN.d, next: listed(flat) };
  }
  if (kind === ofSet) {
    const members = [];
    eachOfSet(value, (one) => push(members, one));
    return { __proto__: null, text: OPEN.s, next: listed(members) };
  }
  return special(value) ?? { __proto__: null, text: OPEN.d, next: fields(value) };
}

// Whether the value, or its class, has something else in place of a method with which people read an array, map or set.
// One of another realm, which has methods of its own, is not looked at.
function overrides(value, kind) {
  const names = kind === ofArray ? READ.array : kind === ofMap ? READ.map : READ.set;
  let found = false;
  let steps = 0;
  for (let one = value; one !== kind; one = getPrototypeOf(one)) {
    steps += 1;
    if (one === null) return false;
    if (isProxy(one) || steps > MOST_CLASSES) return true;
    for (let place = 0; place < names.length && !found; place += 1) found = own(one, names[place]);
  }
  return found;
}

function alone(text) {
  return { __proto__: null, text, next: undefined };
}

function special(value) {
  if (isDate(value)) return alone(object(NotANumber(time(value)) ? "Date invalid" : `Date ${iso(value)}`));
  if (isRegExp(value)) return alone(object(`RegExp ${source(value)}`));
  if (isAnyArrayBuffer(value)) return alone(object("ArrayBuffer"));
  if (isTypedArray(value)) {
    if (typedTag(value) === "Uint8Array") return alone(bytes(value));
    return alone(object(`${typedTag(value)} ${joined(numbers(value), ",")}`));
  }
  if (isNativeError(value) || hasInstance(Error, value)) return alone(titled(lineage(value)[0] ?? "Error"));
  if (isBoxedPrimitive(value)) return alone(titled(slice(zone(value), 8, -1)));
  const lazy = isGeneratorObject(value) || isMapIterator(value) || isSetIterator(value) || test(LAZY, zone(value));
  return lazy ? { __proto__: null, text: OPEN.g, next: drawn(value) } : null;
}

function bytes(view) {
  const pieces = [];
  for (let place = 0; place < typedLength(view); place += 1) push(pieces, (view[place] < 16 ? "0" : "") + digits(view[place], 16));
  return `${BYTES},"${joined(pieces, "")}"`;
}

function listed(list) {
  let place = -1;
  return () => {
    place += 1;
    return place < list.length ? { __proto__: null, done: false, one: held(list, place) } : { __proto__: null, done: true };
  };
}

function numbers(view) {
  const pieces = [];
  for (let place = 0; place < typedLength(view); place += 1) {
    push(pieces, typeof view[place] === "bigint" ? big(view[place]) : float(view[place]));
  }
  return pieces;
}

function drawn(value) {
  let number = 0;
  return () => {
    const next = value.next();
    if (next.done) return { __proto__: null, done: true };
    number += 1;
    if (number > MOST_DRAWN) throw unfit("endless");
    return { __proto__: null, done: false, one: next.value };
  };
}

function fields(value) {
  const names = keysOf(value);
  let place = -1;
  return () => {
    place += 1;
    const name = names[place >> 1];
    if (place >> 1 >= names.length) return { __proto__: null, done: true };
    return { __proto__: null, done: false, one: place % 2 === 0 ? name : held(value, name) };
  };
}

function lineage(error) {
  const names = [];
  for (let one = error; one !== null && one !== ofObject && names.length < 32; one = getPrototypeOf(one)) {
    const made = own(one, "constructor") ? one.constructor?.name : undefined;
    if (typeof made === "string" && made && !includes(names, made)) push(names, made);
  }
  if (typeof error.name === "string" && error.name && !includes(names, error.name)) push(names, error.name);
  for (let at = 0; at < names.length; at += 1) {
    const known = OWN_ERRORS[names[at]];
    if (known !== undefined && !hasInstance(known, error)) names[at] = `another ${names[at]}`;
  }
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
    // Node does not recognise all named exports of a CommonJS module; `default` has them all
    if (found === undefined && place === 0 && from.default != null && part !== "default") {
      holder = from.default;
      found = from.default[part];
    }
    if (found === undefined) return { lack: `${part} in ${name.slice(0, colon)}` };
  }
  if (typeof found !== "function") return { lack: `function ${name.slice(colon + 1)}` };
  return { holder: isModuleNamespaceObject(holder) ? undefined : holder, found };
}

const ENDINGS = ["", ".js", ".cjs", ".mjs", ".ts", "/index.js"];

// The files that this file imports, directly or indirectly, by relative paths or by short names (`#core`), according to
// their texts. Node does not report which modules it has loaded.
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
    for (const match of text.matchAll(/(?:from|import|require)\s*\(?\s*["']((?:\.{1,2}\/|#)[^"']+)["']/g)) {
      const places = match[1][0] === "#" ? named(file, match[1]) : [path.resolve(path.dirname(file), match[1])];
      for (const one of places.flatMap((next) => ENDINGS.map((end) => `${next}${end}`))) {
        if (existsSync(one) && statSync(one).isFile()) found.add(one);
      }
    }
  }
  return found;
}

// The paths for which a short name may stand, by `imports` in the nearest package.json. Node's own function for that
// would leave traces in its caches.
function named(file, name) {
  let folder = path.dirname(file);
  while (!existsSync(path.join(folder, "package.json"))) {
    if (folder === path.dirname(folder)) return [];
    folder = path.dirname(folder);
  }
  const found = [];
  try {
    const imports = said.parse(readFileSync(path.join(folder, "package.json"), "utf8")).imports ?? {};
    for (const key of keysOf(imports)) {
      const [begin, end] = key.split("*");
      const whole = end === undefined ? name === key : name.startsWith(begin) && name.endsWith(end);
      if (!whole || name.length < key.length - 1) continue;
      const rest = end === undefined ? "" : name.slice(begin.length, name.length - end.length);
      const waiting = [imports[key]]; // a path, or several by conditions
      for (const one of waiting) {
        if (typeof one === "string") found.push(path.resolve(folder, one.replaceAll("*", rest)));
        else if (one !== null && typeof one === "object") waiting.push(...keysOf(one).map((each) => one[each]));
      }
    }
  } catch {
    return found; // no valid package.json
  }
  return found;
}

function isAwaited(result) {
  if (result === null || (typeof result !== "object" && typeof result !== "function")) return false;
  return isPromise(result) || (!isProxy(result) && "then" in result);
}

async function answer(order) {
  const given = build(order.args);
  let stage = "import";
  const told = { __proto__: null };
  const shown = { __proto__: null };
  try {
    const { lack, holder, found } = await target(order.call, order.room);
    if (lack) return { told: { __proto__: null, missing: lack }, shown };
    stage = "call";
    const result = apply(found, holder, given);
    told.form = isAwaited(result) ? "awaited" : "plain";
    shown.returned = render(await result);
  } catch (error) {
    const thrown = error !== null && typeof error === "object";
    told.raised = thrown ? lineage(error) : [typeof error];
    told.stage = stage;
    told.text = slice(said.text(thrown ? error.message : error), 0, 500);
    const lacking = thrown ? missingPackage(error) : "";
    if (lacking) told.module = lacking;
  }
  shown.args = render(given);
  shown.kwargs = `[${OPEN.d},${CLOSE}]`;
  return { told, shown };
}

// Writes nested lists as JSON. JSON.stringify would call toJSON, which the project may have added to a prototype.
function written(node) {
  if (!isArray(node)) return said.json(node);
  let text = "[";
  for (let place = 0; place < node.length; place += 1) text += (place ? "," : "") + written(node[place]);
  return `${text}]`;
}

const order = said.parse(readFileSync(3, "utf8"));
if (order.by_file) {
  // Look as if a script had been started by its path. Otherwise it looks as if somebody had typed the call.
  const [file, name] = [order.call.slice(0, order.call.lastIndexOf(":")), order.call.slice(order.call.lastIndexOf(":") + 1)];
  const place = path.join(process.env.TMPDIR ?? "/tmp", "main.mjs");
  const text = `import * as found from ${said.json(path.join(order.room, file))};\n\nconsole.log(found.${name}());\n`;
  fs.writeFileSync(place, text);
  process.argv[1] = place;
}
const ran = [...imported(path.join(order.room, order.call.slice(0, order.call.lastIndexOf(":"))))];
const { told, shown } = await answer(order);
let line = `{"ran":${written(ran)}`;
for (const name in told) line += `,${said.json(name)}:${written(told[name])}`;
for (const name in shown) line += `,${said.json(name)}:${shown[name]}`;
const message = bufferFrom(`${line}}\n`);
for (let from = 0; from < message.length; ) from += writeSync(4, message, from);
// This process ends now by itself, unless a timer or a handle of the project keeps it alive.
