import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createQuickResolve } from './quick-imports.ts'

/** Imports what the gateway imports of drizzle-orm, and compares each answer with the one that Node gives. */
const COMPARE = `
  import { registerHooks } from 'node:module'
  const { ${createQuickResolve.name}: create } = await import(${JSON.stringify(join(import.meta.dirname, 'quick-imports.ts'))})
  const quick = create()
  const counts = { taken: 0, left: 0, wrong: [] }
  registerHooks({
    resolve(specifier, context, next) {
      const own = next(specifier, context)
      let isLeft = false
      const answer = quick(specifier, context, (...asked) => { isLeft = true; return next(...asked) })
      counts[isLeft ? 'left' : 'taken'] += 1
      const isSame = answer.url === own.url && (answer.format ?? 'module') === (own.format ?? 'module')
      if (!isSame) counts.wrong.push([specifier, context.parentURL, answer, own])
      return own
    },
  })
  await import(${JSON.stringify(join(import.meta.dirname, 'database/open-database.ts'))})
  await import(${JSON.stringify(join(import.meta.dirname, 'database/migrate.ts'))})
  process.stdout.write(JSON.stringify(counts))`

test('modules of drizzle-orm are resolved as Node resolves them, nearly all without its help', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', COMPARE], {
    encoding: 'utf8',
  })
  const { taken, wrong } = JSON.parse(printed)
  expect(wrong).toEqual([])
  expect(taken).toBeGreaterThan(100)
})
