const UNITS = { d: 86400, h: 3600, m: 60, s: 1 };

function seconds(text) {
  if (typeof text !== 'string') throw new TypeError('no text');
  const match = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text);
  if (!match || text === '') throw new RangeError(`no duration: ${text}`);
  return Object.values(UNITS).reduce((sum, unit, place) => sum + unit * Number(match[place + 1] ?? 0), 0);
}

module.exports = { seconds };
