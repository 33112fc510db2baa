function json(status, data, headers = {}) {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(data) };
}

function read(body) {
  try {
    const data = JSON.parse(body);
    return data && typeof data.kg === 'number' && data.kg > 0 ? data : null;
  } catch {
    return null;
  }
}

function put(id, body, parcels) {
  const data = read(body);
  if (!data) return json(400, { error: 'kg must be a number above zero' });
  const status = parcels.has(id) ? 200 : 201;
  parcels.set(id, { id, kg: data.kg });
  return json(status, parcels.get(id));
}

function respond(method, url, body, parcels) {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  if (pathname === '/health') return json(200, { ok: true });
  if (pathname === '/cost' && method === 'GET') {
    const kg = Number(searchParams.get('kg') ?? 'x');
    return kg > 0 ? json(200, { cents: 300 + Math.ceil(kg) * 100 }) : json(400, { error: 'kg must be a number above zero' });
  }
  const match = /^\/parcels\/([a-z0-9]+)$/.exec(pathname);
  if (match && method === 'PUT') return put(match[1], body, parcels);
  if (match && method === 'GET' && parcels.has(match[1])) return json(200, parcels.get(match[1]));
  return json(404, { error: 'not found' });
}

module.exports = { respond };
