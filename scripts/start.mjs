// `npm start`: installs what is missing, builds what changed, then runs the gateway.
// Nothing is imported before the version check, so that an old Node gets a sentence and not a syntax error.
import { requireNode } from './lib/node-version.mjs'

if (requireNode()) {
  import('./lib/start.mjs').then(module => module.start(process.argv.slice(2)))
}
