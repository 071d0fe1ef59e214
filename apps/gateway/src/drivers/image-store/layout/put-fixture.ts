/**
 * Keeps an image, or removes one, in a process that dies by SIGKILL at the so many-th change that it makes to the disk:
 * `put-fixture.ts <folder> <put|remove> <archive|digest> <which change>`. Dies later or never: it ends with 0.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [dir = '', what = '', given = '', at = ''] = process.argv.slice(2)
let changes = 0

function dies(): void {
  if (++changes === Number(at)) process.kill(process.pid, 'SIGKILL')
}

const promises = fs.promises as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
for (const name of ['open', 'mkdir', 'rename', 'link', 'rm']) {
  const real = promises[name]
  if (!real) throw new Error(`there is no ${name}`)
  promises[name] = (...args) => {
    dies()
    return real(...args)
  }
}
syncBuiltinESMExports()

const { createLayoutFolder } = await import('./layout-folder.ts')
const store = createLayoutFolder(dir, { bytes_max: 1e9, free_bytes_min: 0 })
if (what === 'put')
  await store.put(fs.createReadStream(given) as AsyncIterable<Buffer>, new AbortController().signal)
else await store.remove(given)
