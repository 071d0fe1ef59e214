import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

/** Laid into one folder, so no two of them may have a file of the same name. */
const SOURCES = ['agent', '../sessions', '../oci/unpack', '../qemu/keeper', '../../../platform/tar'].map(
  name => join(import.meta.dirname, name),
)

/** Of the port, what speaks with a guest's own SSH server, in the gateway and in keepers alike. */
const PORT = join(import.meta.dirname, '../port')
const OF_PORT = [
  'guest-access.ts',
  'guest-client.ts',
  'guest-limits.ts',
  'guest-program.ts',
  'guest-way.ts',
  'serial-session.ts',
  'ssh-library.ts',
  'ssh-outlet.ts',
]

/** A file that runs in a machine or beside it. */
export interface MachineScript {
  name: string
  text: string
}

let made: Promise<MachineScript[]> | undefined

/**
 * The scripts that run in machines, as plain JavaScript: having the types off beforehand saves each machine some 40 ms
 * and 18 MB at start. Made once for a process, and where the gateway is built, once for the build (see
 * `rolldown.config.mjs`): it takes a tenth of a second.
 */
export function machineScripts(): Promise<MachineScript[]> {
  made ??= makeScripts()
  return made
}

async function makeScripts(): Promise<MachineScript[]> {
  const listed = await Promise.all(
    SOURCES.map(async dir => (await readdir(dir)).sort().map(name => ({ dir, name }))),
  )
  const tested = listed.flat().filter(({ name }) => !name.endsWith('.test.ts'))
  const files = [...tested, ...OF_PORT.map(name => ({ dir: PORT, name }))]
  return await Promise.all(
    files.map(async ({ dir, name }) => {
      const source = await readFile(join(dir, name), 'utf8')
      if (!name.endsWith('.ts')) return { name, text: source }
      return { name: name.replace(/\.ts$/, '.mjs'), text: toJavaScript(source) }
    }),
  )
}

function toJavaScript(source: string): string {
  return stripQuietly(source).replaceAll(
    /(from |import\()'\.{1,2}\/(?:[a-z./-]+\/)?([a-z-]+)\.ts'/g,
    "$1'./$2.mjs'",
  )
}

/**
 * Node runs the gateway itself by the same stripping, without a word; only the function that lends it to
 * programs still warns that its shape may change. Operators can do nothing with that, so it is not shown.
 */
function stripQuietly(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
