// `npm test`: installs what is missing, then runs every check and test on the pinned Node.
// Nothing is imported before the version check, so that an old Node gets a sentence and not a syntax error.
import { requireNode } from './lib/node-version.mjs'

if (requireNode()) {
  import('./lib/test.mjs').then(module => module.test(process.argv.slice(2)))
}
