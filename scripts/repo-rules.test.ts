import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { calls } from '../packages/contract/src/calls.ts'
import { INSTANCE_EVENT_CODES, INSTANCE_REASON_CODES } from '../packages/contract/src/instance-codes.ts'
import { root } from './lib/paths.mjs'
import { TEST_FILE_PATTERN } from './lib/test-files.mjs'

/** Text that must not stand in some files. The failure message is what to do instead. */
interface TextRule {
  name: string
  instead: string
  applies: (path: string) => boolean
  pattern: RegExp
  bad: readonly string[]
  good: readonly string[]
}

const SOURCE = /^(apps|packages|e2e|bench|scripts)\/.*\.(ts|tsx|mjs)$/
const SHIPPED = /^(apps|packages)\/[^/]+\/src\/.*\.(ts|tsx)$/
const TEST = new RegExp(TEST_FILE_PATTERN)
const SELF = 'scripts/repo-rules.test.ts'
/** Names with a unit that boundaries have, which are snake_case wherever one of their objects is made or read. */
const UNITS_OF_BOUNDARIES = [
  // The compute port.
  'timeout_ms',
  'output_bytes_max',
  'network_received_bytes',
  'network_sent_bytes',
  'sent_bytes',
  'counter_bytes',
  'instance_traffic_bytes',
  // What a hosted model makes.
  'video_seconds',
  'median_ms',
  'stored_bytes',
  'stored_bytes_max',
  'creation_file_bytes',
  'creation_seconds',
  // What an engine and a store tell of images.
  'size_bytes',
  'used_bytes',
  'own_bytes',
  'new_bytes',
  'freed_bytes',
  'kept_bytes',
  'free_bytes_min',
  // The wire, a column and a metric.
  'lasts_seconds',
  'rate_seconds',
  'range_seconds',
  'step_seconds',
  'first_byte_ms',
  'first_token_ms',
  'speaking_ms',
  'latency_ms',
  'have_bytes',
  'disk_read_bytes',
  'disk_written_bytes',
  'berth_call_seconds',
]
/** Files that speak in the words of a sandbox's agent, of a terminal's keeper, of Docker or of the kernel. */
const SPEAKS_OTHERS_WORDS =
  /^apps\/gateway\/src\/drivers\/compute\/(sandbox\/(agent\/|agent-client|cgroup-limiter)|qemu\/keeper\/|docker\/(keeper-|terminal-keeper|container-plan|docker-machines|docker-sampler)|samples\/(group-reader|machine-sampler\.test))/
const LANGUAGES = ['en', 'zh', 'ja', 'ko'] as const

const textRules: TextRule[] = [
  {
    name: 'no path of the machine that a file was written on',
    instead: 'Use a path from the root of the clone.',
    applies: path => path !== SELF,
    // `/root` and `/home/...` themselves are honest places inside a customer's machine.
    pattern:
      /(?<![\w.-])\/work\/(main|shared|\.)|\/root\/(\.npm|\.cache|\.nvm|\.pyenv|work)\b|\/Users\/[a-z]|\/tmp\/(brief|heavy|npm\.lock)/,
    bad: ['see /work/main/docs', 'cat /root/.npm/_logs', '/Users/jo/berth'],
    good: ['cd /root', '/home/berth/work/main.py', 'docs/work/plan'],
  },
  {
    name: 'mails lead to pages by their names',
    instead: 'Use consoleLink of the contract; a test holds that its pages are there.',
    applies: path => /^apps\/gateway\/src\/domains\/.*\.ts$/.test(path) && !TEST.test(path),
    pattern: /publicUrl\(\)(\.replace| \+)/,
    bad: ["deps.publicUrl().replace(/x/, '') + path", "publicUrl() + '/a'"],
    good: ["consoleLink(deps.publicUrl(), 'payments')", 'redirectUriFor(deps.publicUrl(), origin)'],
  },
  {
    name: 'no day and no month of the zone that a gateway happens to run in',
    instead: 'Use the methods in UTC, and Date.UTC: months, days and numbers are the same on every computer.',
    applies: path => /^(apps\/gateway|packages\/contract)\/src\//.test(path) && !TEST.test(path),
    pattern:
      /\.(?:get|set)(?:FullYear|Month|Date|Day|Hours|Minutes)\(|\bnew Date\([^()]*,|\.getTimezoneOffset\(/,
    bad: ['now.getMonth() + 1', 'closes.setDate(1)', 'new Date(year, month)', 'now.getTimezoneOffset()'],
    good: [
      'now.getUTCMonth() + 1',
      'new Date(Date.UTC(year, month))',
      'new Date(at)',
      'stats.getDateRange()',
    ],
  },
  {
    name: 'no console output from what ships',
    instead: 'Take a logger, or show it on the page.',
    // Programs that customers copy say what they were answered.
    applies: path =>
      SHIPPED.test(path) &&
      !TEST.test(path) &&
      !/^packages\/contract\/src\/model-(call-)?code\.ts$/.test(path),
    pattern: /\bconsole\.(log|info|warn|error|debug|trace)\(/,
    bad: [`console.log('here')`, 'console.error(error)'],
    good: [`log.info('here')`, 'the console. Log in first'],
  },
  {
    name: 'settings are read in one place',
    instead: 'Add the setting to the schema in apps/gateway/src/platform/config and take it from there.',
    applies: path => SHIPPED.test(path) && !TEST.test(path) && !isConfigModule(path),
    pattern: /\bprocess\.env\b|import\.meta\.env\.VITE_/,
    bad: ['const url = process.env.DATABASE_URL', 'const { HOME } = process.env'],
    good: ['config.database.url', 'the process environment'],
  },
  {
    name: 'what a change makes old stands on its call',
    instead: 'Send it by `useChange` or `sendChange`, and name the reads in the `stales` of its call.',
    // What is told of instances changes what was read, and no call of ours made it old.
    applies: path => /^apps\/console\/src\/(?!api\/|instances\/live\/told-)/.test(path),
    pattern: /\b(useMutation|invalidateQueries|setQueryData|setQueriesData)\b/,
    bad: ['const { mutate } = useMutation({})', `queries.invalidateQueries({ queryKey: ['a'] })`],
    good: ['const stop = useChange(stopInstance)', 'void reread([getBalance.operation])'],
  },
  {
    name: 'a unit in a camelCase name is camelCase too',
    instead:
      "Write `waitMs`; `wait_ms` is for objects that are snake_case: on the wire, in a driver's port, in a column. A new one of those is named in UNITS_OF_BOUNDARIES.",
    applies: path => SOURCE.test(path) && path !== SELF && !SPEAKS_OTHERS_WORDS.test(path),
    pattern: new RegExp(
      `\\b(?!(?:${UNITS_OF_BOUNDARIES.join('|')})\\b)[a-z][A-Za-z]*(?:_[a-z]+)*_(?:ms|bytes|seconds)(?:_max|_min)?\\b`,
    ),
    bad: [
      'const wait_ms = 5',
      'close(patience_ms: number)',
      '{ max, window_ms }',
      'goodUntil_ms',
      'body_bytes_max: 5',
      'const drain_seconds = 5',
    ],
    good: ['const waitMs = 5', 'RETRY_FIRST_MS', 'message_size', '{ timeout_ms: waitMs }', 'bodyBytesMax'],
  },
  {
    name: 'types are imported by a statement',
    instead: 'Write `import type { … }`: the check of import directions does not see the inline form.',
    applies: path => SOURCE.test(path) && path !== SELF,
    pattern: /\btypeof import\(|\bimport\(\s*['"][^'"]+['"]\s*\)\s*\.\s*[A-Z]/,
    bad: [`let a: import('./a.ts').A`, `type A = typeof import('./a.ts')`],
    good: [
      `import type { A } from './a.ts'`,
      `import('./a.ts').then(start)`,
      `lazy(() => import('./Page.tsx'))`,
    ],
  },
  {
    name: 'the gateway finds its files by the folder of their module',
    instead:
      'Write `join(import.meta.dirname, …)`: once it is built, the URL of a module is that of another file.',
    applies: path => path.startsWith('apps/gateway/src/') && !TEST.test(path),
    pattern: /new URL\([^)]*\bimport\.meta\.url/,
    bad: ["new URL('./worker.ts', import.meta.url)", 'new URL(FILE, import.meta.url)'],
    good: ["join(import.meta.dirname, 'worker.ts')", 'createRequire(import.meta.url)', 'new URL(link)'],
  },
  {
    name: 'packages come from whichever registry a machine uses',
    instead: 'Keep `omit-lockfile-registry-resolved=true` in .npmrc and run `npm install` again.',
    applies: path => path === 'package-lock.json' || path.endsWith('.npmrc'),
    pattern:
      /"resolved":\s*"(?!apps\/|packages\/|e2e"|bench")|registry\.[a-z-]+\.|^\s*(@[^:]+:)?registry\s*=/m,
    bad: ['"resolved": "https://example.org/a.tgz"', 'registry=https://example.org/', 'registry.example.org'],
    good: ['"resolved": "apps/gateway"', '"resolved": "e2e"', 'omit-lockfile-registry-resolved=true'],
  },
]

describe('text', () => {
  test.each(textRules)('$name', ({ applies, pattern, instead }) => {
    const broken = repositoryFiles()
      .filter(applies)
      .flatMap(path => linesMatching(path, pattern))
    expect(broken, instead).toEqual([])
  })

  test.each(textRules)('the rule itself works: $name', ({ pattern, bad, good }) => {
    for (const text of bad) expect(text).toMatch(pattern)
    for (const text of good) expect(text).not.toMatch(pattern)
  })
})

describe('the lockfile', () => {
  test('it holds the packages of every platform, or `npm ci` refuses it on all of them', () => {
    const { packages }: Lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    const absent = Object.entries(packages).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {})
        .filter(name => !isReachable(packages, path, name))
        .map(name => `${path} wants ${name}`),
    )
    const instead = 'Take a version of the package that is published for all its platforms, pinned exactly.'
    expect(absent, instead).toEqual([])
  })
})

describe('[B3] calls that spend', () => {
  const spending = calls.filter(call => call.spends)

  test('there are some, and each is a change that the console never repeats by itself', () => {
    expect(spending.length).toBeGreaterThan(0)
    for (const call of spending) {
      expect(call.method, call.operation).not.toBe('GET')
      expect(call.retry, call.operation).toBe(false)
    }
  })

  test('the published document asks for an Idempotency-Key on these calls and on no other', () => {
    const file = readFileSync(join(root, 'docs/openapi.json'), 'utf8')
    const document: OpenApi = JSON.parse(file)
    const asking = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation.parameters?.some(isRequiredKey))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    expect(asking.sort()).toEqual(
      spending.map(call => `${call.method} ${publishedPath(document, call.path)}`).sort(),
    )
  })
})

describe('[R1.9] texts in four languages', () => {
  const folders = ['apps/console/public/locales', 'packages/contract/locales']
  const namespaces = folders.flatMap(folder =>
    jsonFiles(join(folder, 'en')).map(file => ({ folder, file, title: `${folder}/*/${file}` })),
  )

  test.each(folders)('[R1.9] %s holds the same files for each language', folder => {
    const english = jsonFiles(join(folder, 'en'))
    expect(english).not.toEqual([])
    for (const language of LANGUAGES) expect(jsonFiles(join(folder, language)), language).toEqual(english)
    expect(readdirSync(join(root, folder)).sort()).toEqual([...LANGUAGES].sort())
  })

  test.each(namespaces)('[R1.9] $title: same keys, same variables, no empty text', ({ folder, file }) => {
    const english = readTexts(folder, 'en', file)
    for (const language of LANGUAGES) {
      const texts = readTexts(folder, language, file)
      expect([...texts.keys()].sort(), `keys in ${language}`).toEqual([...english.keys()].sort())
      for (const [key, text] of texts) {
        expect(text.empty, `${language} ${key} is empty`).toBe(false)
        expect(text.variables, `variables of ${key} in ${language}`).toEqual(english.get(key)?.variables)
      }
    }
  })
})

describe('what happened to an instance, in words', () => {
  test.each(LANGUAGES)('[B6] %s has a text for each event and each reason, and no other', language => {
    const file = join(root, 'apps/console/public/locales', language, 'events.json')
    const texts: Record<string, Record<string, string>> = JSON.parse(readFileSync(file, 'utf8'))
    const keys = Object.entries(texts).map(([group, entries]) => [group, Object.keys(entries).sort()])
    expect(Object.fromEntries(keys)).toEqual({
      event: [...INSTANCE_EVENT_CODES].sort(),
      reason: [...INSTANCE_REASON_CODES].sort(),
    })
  })
})

interface Lockfile {
  packages: Record<string, { optionalDependencies?: Record<string, string> }>
}

interface OpenApi {
  paths: Record<string, Record<string, { parameters?: HeaderParameter[] }>>
}

interface HeaderParameter {
  in: string
  name: string
  required?: boolean
}

/** The texts of one key: plural forms together, because languages differ in how many they have. */
interface Text {
  variables: string[]
  empty: boolean
}

function isConfigModule(path: string): boolean {
  return /^apps\/gateway\/src\/platform\/config(\.ts$|\/)/.test(path)
}

/** Every file that is committed or about to be. */
function repositoryFiles(): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0')
  return listed.filter(path => path !== '' && existsSync(join(root, path)))
}

function linesMatching(path: string, pattern: RegExp): string[] {
  const content = readFileSync(join(root, path))
  // A zero byte means a picture, a font or an archive.
  if (content.includes(0)) return []
  return content
    .toString()
    .split('\n')
    .flatMap((line, index) =>
      pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
    )
}

/** Whether an import of the package, from inside the folder, would find an entry: there or further up. */
function isReachable(packages: Lockfile['packages'], folder: string, name: string): boolean {
  for (let at = folder; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    if (packages[at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`] !== undefined) return true
    if (at === '') return false
  }
}

function isRequiredKey(parameter: HeaderParameter): boolean {
  return (
    parameter.in === 'header' &&
    parameter.name.toLowerCase() === 'idempotency-key' &&
    parameter.required === true
  )
}

/** The document's paths may begin with the gateway's prefix, or leave it to the server's address. */
function publishedPath(document: OpenApi, path: string): string {
  return document.paths[path] === undefined ? `/gateway${path}` : path
}

function jsonFiles(folder: string): string[] {
  const absolute = join(root, folder)
  if (!existsSync(absolute)) return []
  return readdirSync(absolute)
    .filter(name => name.endsWith('.json'))
    .sort()
}

function readTexts(folder: string, language: string, file: string): Map<string, Text> {
  const texts = new Map<string, Text>()
  for (const [key, text] of flatten(
    JSON.parse(readFileSync(join(root, folder, language, file), 'utf8')),
    '',
  )) {
    const base = key.replace(/_(zero|one|two|few|many|other)$/, '')
    const known = texts.get(base)
    const variables = new Set([...(known?.variables ?? []), ...variablesOf(text)])
    texts.set(base, {
      variables: [...variables].sort(),
      empty: (known?.empty ?? false) || text.trim() === '',
    })
  }
  return texts
}

function flatten(value: unknown, prefix: string): [string, string][] {
  if (typeof value === 'string') return [[prefix, value]]
  if (typeof value !== 'object' || value === null)
    throw new Error(`${prefix} is neither a text nor a group of texts`)
  return Object.entries(value).flatMap(([key, child]) =>
    flatten(child, prefix === '' ? key : `${prefix}.${key}`),
  )
}

/** Names in `{{name}}` and `{{name, format}}`, and the tags of rich texts. */
function variablesOf(text: string): string[] {
  const variables = [...text.matchAll(/\{\{-?\s*([\w.]+)[^}]*\}\}/g)].map(match => match[1] ?? '')
  const tags = [...text.matchAll(/<(\w+)\s*\/?>/g)].map(match => `<${match[1]}>`)
  return [...variables, ...tags]
}
