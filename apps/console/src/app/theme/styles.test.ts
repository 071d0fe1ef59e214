import { existsSync, globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SOURCES = resolve(import.meta.dirname, '../..')
const MANTINE = dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.css'))
const imported = readFileSync(join(import.meta.dirname, 'styles.ts'), 'utf8')

/** Parts of Mantine that a file has. */
function partsOf(file: string): string[] {
  const text = readFileSync(join(SOURCES, file), 'utf8')
  return [...text.matchAll(/import \{([^}]+)\} from '@mantine\/core'/g)].flatMap(([, names = '']) =>
    names.split(',').flatMap(name => /^\s*([A-Z]\w*)/.exec(name)?.[1] ?? []),
  )
}

test('each part of Mantine that the console has comes with its styles: without them it is drawn bare', () => {
  const files = globSync('**/*.tsx', { cwd: SOURCES }).filter(file => !file.endsWith('.test.tsx'))
  const lacking = files.flatMap(file =>
    partsOf(file)
      .filter(part => existsSync(join(MANTINE, 'styles', `${part}.css`)))
      .filter(part => !imported.includes(`@mantine/core/styles/${part}.css`))
      .map(part => `${file}: import '@mantine/core/styles/${part}.css' in app/theme/styles.ts`),
  )
  expect(files.length).toBeGreaterThan(100)
  expect(lacking).toEqual([])
})
