import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/**
 * @returns how many bytes of buffers this process holds, without those that nobody refers to any more: what
 * other tests of the process left behind would else be collected, or not, while one measures
 */
export function heldBytes(): number {
  // The engine frees buffers beside what it does otherwise, and is through with that when it collects again.
  collect()
  collect()
  return process.memoryUsage().arrayBuffers
}
