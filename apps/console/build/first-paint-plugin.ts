import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Plugin } from 'vite'

const SOURCE = new URL('../public/first-paint.js', import.meta.url)
const ADDRESS = '/first-paint.js'
const HASH_CHARS = 8

/**
 * Gives `public/first-paint.js` a hash in its name in a build. The page waits for it before it reads on, so a browser
 * that has it must not ask again whether it is still the same.
 * @returns A plugin for builds; development serves the file under its plain name.
 */
export function hashedFirstPaint(): Plugin {
  let fileName = ''
  return {
    name: 'berth-hashed-first-paint',
    apply: 'build',
    async buildStart() {
      const hash = createHash('sha256')
        .update(await readFile(SOURCE))
        .digest('base64url')
      fileName = `assets/first-paint-${hash.slice(0, HASH_CHARS)}.js`
    },
    transformIndexHtml(html) {
      if (!html.includes(`"${ADDRESS}"`)) throw new Error(`index.html has no ${ADDRESS}.`)
      return html.replace(`"${ADDRESS}"`, `"/${fileName}"`)
    },
    async generateBundle() {
      this.emitFile({ type: 'asset', fileName, source: await readFile(SOURCE) })
    },
  }
}
