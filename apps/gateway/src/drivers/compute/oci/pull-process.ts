/**
 * Fetches one image in a process of its own, so that neither what a registry sends nor adding up its digests holds up
 * the gateway: `pull-process.ts <uppermost folder> <folder> <reference>`.
 */
import { pullImage } from './pull-image.ts'
import { pullOrdersSchema } from './pull-orders.ts'
import { serveFetch } from './serve-fetch.ts'

const [openDir = '', dir = '', reference = ''] = process.argv.slice(2)
await serveFetch(pullOrdersSchema.parse, ({ terms, room }, onProgress) =>
  pullImage(dir, reference, { terms, openDir, room, onProgress }),
)
