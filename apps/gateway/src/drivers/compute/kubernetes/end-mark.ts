import { randomBytes } from 'node:crypto'

const NUL = 0
const MARK_BYTES_MAX = 64

/**
 * A word that a program's wrapper writes to its errors when it has ended: the API tells an end only once nobody holds the
 * outputs any more, and what a program leaves behind may do so for days. Whoever in the machine writes the same harms nobody else.
 */
export function createEndMark() {
  const nonce = randomBytes(12).toString('hex')
  const pattern = new RegExp(`^${nonce} (\\d{1,3})\\n`)
  let held: Buffer = Buffer.alloc(0)
  return {
    nonce,
    /**
     * Takes the mark out of what comes.
     * @returns What is none of it, and the code once the mark was there.
     */
    read(chunk: Buffer): { rest: Buffer; code: number | null } {
      const all = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      held = Buffer.alloc(0)
      for (let at = all.indexOf(NUL); at >= 0; at = all.indexOf(NUL, at + 1)) {
        const found = pattern.exec(all.toString('latin1', at + 1, at + 1 + MARK_BYTES_MAX))
        if (found) {
          const behind = all.subarray(at + 1 + found[0].length)
          return { rest: Buffer.concat([all.subarray(0, at), behind]), code: Number(found[1]) }
        }
        // It may come in two pieces.
        if (all.length - at < nonce.length + 6) {
          held = Buffer.from(all.subarray(at))
          return { rest: all.subarray(0, at), code: null }
        }
      }
      return { rest: all, code: null }
    },
    /** What was held back of what turned out to be no mark. */
    rest: (): Buffer => held,
  }
}
