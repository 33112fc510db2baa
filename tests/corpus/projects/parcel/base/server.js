const http = require('node:http');
const { respond } = require('./app.js');

const parcels = new Map();

const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    const said = respond(request.method, request.url, body, parcels);
    response.writeHead(said.status, said.headers);
    response.end(said.body);
  });
});

server.listen(Number(process.env.PORT), '127.0.0.1');
