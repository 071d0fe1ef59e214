/**
 * Makes a layer in a process of its own, so that what a machine's files are called, and adding up their digest, holds up
 * and endangers nothing of the gateway: `pack-process.ts`, with its orders on its input.
 */
import { packLayer } from './pack-layer.ts'
import { packOrdersSchema } from './pack-orders.ts'
import { serveFetch } from './serve-fetch.ts'

await serveFetch(packOrdersSchema.parse, packLayer)
