import { closeSync, createWriteStream, existsSync, openSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Refused } from './line/answer.ts'

/**
 * A file that a command is to make, which only its owner reads.
 * @param named As it was typed. @throws Refused where it is there already, or its folder is not.
 */
export function newFile(named: string) {
  const path = resolve(named)
  if (existsSync(path)) throw new Refused(`${path} is there already: name another file.`)
  if (!existsSync(dirname(path))) throw new Refused(`There is no folder ${dirname(path)}.`)
  return {
    path,
    /** Makes it, empty. @throws Error where it cannot be made; one of somebody else's is left alone. */
    open() {
      const fd = openSync(path, 'wx', 0o600)
      return {
        /** Writes it to its end and closes it. @throws Error where that fails: then it is gone. */
        async fill(body: Readable): Promise<void> {
          try {
            await pipeline(body, createWriteStream(path, { fd }))
          } catch (error) {
            rmSync(path, { force: true })
            throw error
          }
        },
        /** Takes it away again. */
        remove(): void {
          closeSync(fd)
          rmSync(path, { force: true })
        },
      }
    },
  }
}
