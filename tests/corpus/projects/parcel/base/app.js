function json(status, data, headers = {}) {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(data) };
}

function respond(method, url, body, parcels) {
  if (url === '/health') return json(200, { ok: true });
  return json(404, { error: 'not found' });
}

module.exports = { respond };
