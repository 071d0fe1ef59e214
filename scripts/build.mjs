// `npm run build`: what `npm start` does before it starts, for a gateway that something else starts, such as systemd.
import { requireNode } from './lib/node-version.mjs'

if (requireNode()) import('./lib/build.mjs').then(module => module.build())
