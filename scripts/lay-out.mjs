// `node scripts/lay-out.mjs <folder>`: lays what a gateway needs to run, and nothing else, into a folder, which is to be
// empty or not there. It is built before; the Dockerfile calls this.
import { layOut } from './lib/lay-out.mjs'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Name the folder to lay the gateway into.')
layOut(folder)
