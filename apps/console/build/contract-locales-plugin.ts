import { readFile } from 'node:fs/promises'
import type { Plugin } from 'vite'

const LANGUAGES = ['en', 'zh', 'ja', 'ko'] as const
const SOURCE = new URL('../../../packages/contract/locales/', import.meta.url)

/**
 * Serves the contract's error texts as one more namespace, `/locales/{lng}/errors.json`: the gateway and the
 * console then say the same sentence for the same code, from one file (R8.1).
 * @returns A plugin that answers the four addresses in development and writes the four files in a build.
 */
export function contractLocales(): Plugin {
  const read = (language: string) => readFile(new URL(`${language}/errors.json`, SOURCE), 'utf8')
  return {
    name: 'berth-contract-locales',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const language = LANGUAGES.find(name => request.url?.startsWith(`/locales/${name}/errors.json`))
        if (!language) return next()
        read(language).then(text => {
          response.setHeader('Content-Type', 'application/json')
          response.end(text)
        }, next)
      })
    },
    async generateBundle() {
      for (const language of LANGUAGES) {
        const source = await read(language)
        this.emitFile({ type: 'asset', fileName: `locales/${language}/errors.json`, source })
      }
    },
  }
}
