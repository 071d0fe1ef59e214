import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cruise } from 'dependency-cruiser'
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { root } from './lib/paths.mjs'

/** An import, as `from` → `to` with the text that stands in the importing file. */
interface Shape {
  from: string
  to: string
  code: string
}

interface RuleCase {
  rule: string
  bad: Shape
  good: Shape
}

const GATEWAY = 'apps/gateway/src'
const CONSOLE = 'apps/console/src'

const cases: RuleCase[] = [
  {
    rule: 'no-unresolved',
    bad: shape(`${GATEWAY}/a.ts`, `${GATEWAY}/b.ts`, `import './absent.ts'`),
    good: shape(`${GATEWAY}/a.ts`, `${GATEWAY}/b.ts`, `import './b.ts'`),
  },
  {
    rule: 'no-test-code',
    bad: shape(`${GATEWAY}/main.ts`, 'apps/gateway/test/helper.ts', `import '../test/helper.ts'`),
    good: shape(`${GATEWAY}/main.test.ts`, 'apps/gateway/test/helper.ts', `import '../test/helper.ts'`),
  },
  {
    rule: 'no-test-code',
    bad: shape(
      `${GATEWAY}/drivers/compute/docker.ts`,
      `${GATEWAY}/drivers/compute/conformance/terminal.ts`,
      `import './conformance/terminal.ts'`,
    ),
    good: shape(
      `${GATEWAY}/drivers/compute/conformance/conformance.ts`,
      `${GATEWAY}/drivers/compute/conformance/terminal.ts`,
      `import './terminal.ts'`,
    ),
  },
  {
    rule: 'contract-is-a-leaf',
    bad: shape('packages/contract/src/a.ts', `${GATEWAY}/b.ts`, `import '../../../apps/gateway/src/b.ts'`),
    good: shape('packages/contract/src/a.ts', 'packages/contract/src/b.ts', `import './b.ts'`),
  },
  {
    rule: 'contract-needs-only-zod',
    bad: shape('packages/contract/src/a.ts', 'packages/contract/src/b.ts', `import 'node:fs'`),
    good: shape('packages/contract/src/a.ts', 'packages/contract/src/b.ts', `import 'zod'`),
  },
  {
    rule: 'console-not-gateway',
    bad: shape(`${CONSOLE}/a.tsx`, `${GATEWAY}/b.ts`, `import type { B } from '../../gateway/src/b.ts'`),
    good: shape(`${CONSOLE}/a.tsx`, 'packages/contract/src/b.ts', `import '@berth/contract/b'`),
  },
  {
    rule: 'gateway-not-console',
    bad: shape(`${GATEWAY}/a.ts`, `${CONSOLE}/b.tsx`, `import '../../console/src/b.tsx'`),
    good: shape(`${GATEWAY}/a.ts`, 'packages/contract/src/b.ts', `import '@berth/contract/b'`),
  },
  {
    rule: 'nobody-imports-the-root',
    bad: shape(`${GATEWAY}/platform/a.ts`, `${GATEWAY}/main.ts`, `import '../main.ts'`),
    good: shape(`${GATEWAY}/main.ts`, `${GATEWAY}/platform/a.ts`, `import './platform/a.ts'`),
  },
  {
    rule: 'platform-is-the-ground',
    bad: shape(
      `${GATEWAY}/platform/a.ts`,
      `${GATEWAY}/domains/billing/billing.ts`,
      `import type { B } from '../domains/billing/billing.ts'`,
    ),
    good: shape(
      `${GATEWAY}/domains/billing/billing.ts`,
      `${GATEWAY}/platform/a.ts`,
      `import '../../platform/a.ts'`,
    ),
  },
  {
    rule: 'driver-not-domain',
    bad: shape(
      `${GATEWAY}/drivers/mail/smtp.ts`,
      `${GATEWAY}/domains/billing/billing.ts`,
      `export type { B } from '../../domains/billing/billing.ts'`,
    ),
    good: shape(`${GATEWAY}/drivers/mail/smtp.ts`, `${GATEWAY}/drivers/mail/port.ts`, `import './port.ts'`),
  },
  {
    rule: 'driver-not-other-port',
    bad: shape(
      `${GATEWAY}/drivers/mail/smtp.ts`,
      `${GATEWAY}/drivers/compute/port/engine.ts`,
      `import '../compute/port/engine.ts'`,
    ),
    good: shape(
      `${GATEWAY}/drivers/compute/docker/docker.ts`,
      `${GATEWAY}/drivers/compute/port/engine.ts`,
      `import '../port/engine.ts'`,
    ),
  },
  {
    rule: 'domain-by-its-rules',
    bad: shape(
      `${GATEWAY}/domains/instances/instances.ts`,
      `${GATEWAY}/domains/billing/tables.ts`,
      `import type { Row } from '../billing/tables.ts'`,
    ),
    good: shape(
      `${GATEWAY}/domains/instances/instances.ts`,
      `${GATEWAY}/domains/billing/billing.ts`,
      `import type { Post } from '../billing/billing.ts'`,
    ),
  },
  {
    rule: 'domain-by-its-rules',
    bad: shape(
      `${GATEWAY}/domains/notifications/notifications.ts`,
      `${GATEWAY}/domains/billing/payments/topups.ts`,
      `import { topUp } from '../billing/payments/topups.ts'`,
    ),
    good: shape(
      `${GATEWAY}/domains/notifications/notifications.ts`,
      `${GATEWAY}/domains/billing/events.ts`,
      `import { topUpPaid } from '../billing/events.ts'`,
    ),
  },
  {
    rule: 'domain-by-the-port',
    bad: shape(
      `${GATEWAY}/domains/instances/instances.ts`,
      `${GATEWAY}/drivers/compute/docker/docker.ts`,
      `import type { Docker } from '../../drivers/compute/docker/docker.ts'`,
    ),
    good: shape(
      `${GATEWAY}/domains/instances/instances.ts`,
      `${GATEWAY}/drivers/compute/port/engine.ts`,
      `import type { Compute } from '../../drivers/compute/port/engine.ts'`,
    ),
  },
  {
    rule: 'page-not-page',
    bad: shape(`${CONSOLE}/pages/auth/A.tsx`, `${CONSOLE}/pages/explore/B.tsx`, `import '../explore/B.tsx'`),
    good: shape(`${CONSOLE}/pages/auth/A.tsx`, `${CONSOLE}/pages/auth/B.tsx`, `import './B.tsx'`),
  },
  {
    rule: 'ui-is-plain',
    bad: shape(`${CONSOLE}/ui/A.tsx`, `${CONSOLE}/api/b.ts`, `const b = () => import('../api/b.ts')`),
    good: shape(`${CONSOLE}/pages/auth/A.tsx`, `${CONSOLE}/api/b.ts`, `import '../../api/b.ts'`),
  },
  {
    rule: 'api-has-no-screen',
    bad: shape(`${CONSOLE}/api/a.ts`, `${CONSOLE}/ui/B.tsx`, `import '../ui/B.tsx'`),
    good: shape(`${CONSOLE}/api/a.ts`, `${CONSOLE}/api/b.ts`, `import './b.ts'`),
  },
  {
    rule: 'only-app-imports-pages',
    bad: shape(`${CONSOLE}/main.tsx`, `${CONSOLE}/pages/auth/B.tsx`, `import './pages/auth/B.tsx'`),
    good: shape(`${CONSOLE}/app/router.tsx`, `${CONSOLE}/pages/auth/B.tsx`, `import '../pages/auth/B.tsx'`),
  },
]

let folder: string
const folders: string[] = []

beforeEach(() => {
  makeFolder()
})

afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true })
})

describe('the import rules', () => {
  test.each(cases)('$rule refuses its bad shape and lets the good one pass', async ({ rule, bad, good }) => {
    build(bad)
    expect(await brokenRules()).toContain(rule)
    makeFolder()
    build(good)
    expect(await brokenRules()).toEqual([])
  })

  test('no-development-packages refuses what ships, lets its types and the tests pass', async () => {
    write('apps/gateway/package.json', '{ "devDependencies": { "zod": "*" } }')
    write(`${GATEWAY}/a.ts`, `import * as z from 'zod'\nexport const a = z\n`)
    expect(await brokenRules()).toContain('no-development-packages')
    makeFolder()
    write('apps/gateway/package.json', '{ "devDependencies": { "zod": "*" } }')
    write(`${GATEWAY}/a.ts`, `import type * as z from 'zod'\nexport type A = z.ZodType\n`)
    write(`${GATEWAY}/a.test.ts`, `import * as z from 'zod'\nexport const a = z\n`)
    expect(await brokenRules()).toEqual([])
  })

  test('no-cycles sees a cycle of types', async () => {
    write(`${GATEWAY}/a.ts`, `import type { B } from './b.ts'\nexport type A = B\n`)
    write(`${GATEWAY}/b.ts`, `import type { A } from './a.ts'\nexport type B = A\n`)
    expect(await brokenRules()).toContain('no-cycles')
  })
})

/** What is looked at is remembered by its path, so each look has a folder of its own. */
function makeFolder(): void {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'berth-imports-')))
  folders.push(folder)
  write('packages/contract/package.json', contractManifest())
  for (const path of ['apps/gateway', 'apps/console', 'e2e', 'bench', 'scripts']) {
    write(`${path}/package.json`, '{ "type": "module" }')
  }
  mkdirSync(join(folder, 'node_modules/@berth'), { recursive: true })
  symlinkSync(join(folder, 'packages/contract'), join(folder, 'node_modules/@berth/contract'))
  symlinkSync(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'))
}

/**
 * The names of the rules that the folder breaks, each once. The program that `npm test` runs reads the same options by
 * the same functions; run in this process, because starting it for each shape took most of the time.
 */
async function brokenRules(): Promise<string[]> {
  const options = await extractDepcruiseOptions(join(root, '.dependency-cruiser.mjs'))
  const paths = ['apps', 'packages', 'e2e', 'bench', 'scripts']
  const { output } = await cruise(paths, { ...options, baseDir: folder, validate: true })
  if (typeof output === 'string') throw new Error('a report was expected, not a text')
  return [...new Set(output.summary.violations.map(violation => violation.rule.name))]
}

function build({ from, to, code }: Shape): void {
  write(to, 'export type B = 1\n')
  write(from, `${code}\nexport const a = 1\n`)
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

function shape(from: string, to: string, code: string): Shape {
  return { from, to, code }
}

function contractManifest(): string {
  return JSON.stringify({
    name: '@berth/contract',
    type: 'module',
    exports: { './*': './src/*.ts' },
    dependencies: { zod: '*' },
  })
}
