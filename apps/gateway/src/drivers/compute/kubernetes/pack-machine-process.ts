/**
 * Makes an image's layer of a machine of a cluster, in a process of its own: what a registry sends, what a machine's files are
 * called and how many there are, and adding up their digests, holds up and endangers nothing of the gateway.
 */
import { serveFetch } from '../oci/serve-fetch.ts'
import { packMachine } from './pack-machine.ts'
import { packMachineOrdersSchema } from './pack-machine-orders.ts'

await serveFetch(packMachineOrdersSchema.parse, packMachine)
process.exit()
