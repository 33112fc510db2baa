// Counts the timers after which a page may still change, so that the reader can wait for them. Only short timers count,
// and of a chain of timers only the first few.
((key) => {
  const [set, clear, waiting] = [window.setTimeout, window.clearTimeout, new Set()];
  let depth = 0;
  window.setTimeout = function setTimeout(work, delay, ...rest) {
    const level = depth;
    if (typeof work !== "function" || !((delay ?? 0) <= 5000) || level > 2) return set.call(window, work, delay, ...rest);
    const id = set.call(window, function (...given) {
      waiting.delete(id);
      depth = level + 1;
      try { return work.apply(this, given); } finally { depth = 0; }
    }, delay, ...rest);
    waiting.add(id);
    return id;
  };
  window.clearTimeout = function clearTimeout(id) { waiting.delete(id); return clear.call(window, id); };
  Object.defineProperty(window, key, { get: () => waiting.size });
})
