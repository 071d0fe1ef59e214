// Portkey's gateway as it can be measured: as shipped it listens on all addresses, and answers streams with 500, since it
// writes to headers that its platform forbids to change.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function (...given) {
  const options = typeof given[0] === 'object' ? given[0] : { port: given[0] }
  const done = given.find(one => typeof one === 'function')
  return listen.call(this, { ...options, host: '127.0.0.1' }, done)
}

const plainFetch = globalThis.fetch
globalThis.fetch = async (...asked) => {
  const { body, status, statusText, headers } = await plainFetch(...asked)
  return new Response(body, { status, statusText, headers: new Headers(headers) })
}
