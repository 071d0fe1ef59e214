import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { calls } from '@berth/contract/calls'
import { generateSource } from 'oazapfts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiDocument } from '../src/platform/http/openapi.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/**
 * Goal: whoever has only the published document has a typed client (R7.9).
 * Method: a generator that is not ours makes one from it, the compiler of this repository compiles a program that
 * uses it and refuses one that misuses it, and the program is run against a gateway.
 */

const ROOT = resolve(import.meta.dirname, '../../..')
const TSC = resolve(ROOT, 'node_modules/typescript/bin/tsc')
const run = promisify(execFile)

/** What a customer would write. */
const PROGRAM = `
import { billBalance, defaults, instanceDeploy, instanceList, type DeployBody, type Instance } from './client.ts'

export async function namesOf(origin: string, token: string): Promise<string[]> {
  Object.assign(defaults, { baseUrl: origin, headers: { authorization: 'Bearer ' + token } })
  const answer = await instanceList()
  if (answer.data.status !== 'ok') throw new Error(answer.data.code)
  const instances: Instance[] = answer.data.data
  return instances.map(instance => instance.name)
}

export async function refusalOf(body: DeployBody): Promise<string> {
  const answer = await instanceDeploy('a-key-of-its-own', body)
  return answer.data.status === 'ok' ? '' : answer.data.code
}

export async function cents(): Promise<number> {
  const answer = await billBalance()
  return answer.data.status === 'ok' ? answer.data.data.account_balance.amount : 0
}
`

/** A field that is not there, a body that lacks one, an amount that is taken for a text. */
const MISUSES = [
  `import type { Instance } from './client.ts'
  export const ip = (instance: Instance) => instance.ip_address`,
  `import { instanceDeploy } from './client.ts'
  export const done = instanceDeploy('a-key-of-its-own', { name: 'x' })`,
  `import type { Balance } from './client.ts'
  export const text = (balance: Balance): string => balance.account_balance.amount`,
]

let gateway: TestGateway
let folder: string

beforeAll(async () => {
  gateway = await startGateway()
  // Inside the repository, because the client imports its small runtime from there.
  folder = await mkdtemp(resolve(ROOT, 'node_modules/.generated-client-'))
  const document = resolve(folder, 'openapi.json')
  await writeFile(document, JSON.stringify(openApiDocument(calls)))
  await writeFile(resolve(folder, 'client.ts'), await generateSource(document))
})
afterAll(async () => {
  await gateway.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('[R7.9] a client that is generated from the published document', () => {
  test('compiles with what uses it, and does what it says', async () => {
    await writeFile(resolve(folder, 'program.ts'), PROGRAM)
    expect(await compile('program.ts')).toBe('')
    const program = await import(resolve(folder, 'program.ts'))
    const { token, userId } = await gateway.signUp()
    await gateway.grant(userId, 5_000)
    expect(await program.namesOf(gateway.origin, token)).toEqual([])
    expect(await program.cents()).toBe(5_000)
    const nowhere = { name: 'generated', region_code: 'nowhere', gpu_spec_id: 'cpu', image_id: 'none' }
    const body = { ...nowhere, gpu_count: 1, container_disk_gb: 50 }
    expect(await program.refusalOf(body)).toMatch(/^[a-z_]+$/)
  })

  test('knows what is wrong with each program that misuses it', async () => {
    const files = MISUSES.map((_, index) => `misuse-${index}.ts`)
    await Promise.all(files.map((file, index) => writeFile(resolve(folder, file), MISUSES[index] ?? '')))
    const found = await compile(...files)
    for (const file of files) expect(found).toMatch(new RegExp(`^${file}.* error TS\\d+`, 'm'))
  })

  test.each(
    calls
      .filter(({ readOnly, streams, file }) => readOnly && !streams && file === null)
      .map(call => [call.operation, call] as const),
  )('has a name for what %s shows', (_, call) => {
    const [path] = Object.values(openApiDocument([call]).paths as Record<string, Record<string, Answering>>)
    const answer = path?.[call.method.toLowerCase()]?.responses['200'].content['application/json'].schema
    const { $ref, type } = thingIn(answer?.properties?.data ?? {})
    const isNamed = $ref !== undefined || (type !== undefined && type !== 'object')
    expect(isNamed, 'name it beside its schema: `z.globalRegistry.add(thing, { id: … })`').toBe(true)
  })

  test('has a name for whatever appears in two calls', () => {
    const document = openApiDocument(calls)
    const seen = new Map<string, number>()
    JSON.stringify(document, (key, value) => {
      // An envelope holds one call's data; it is not a thing of its own.
      const isThing =
        key !== 'schema' && value?.type === 'object' && Object.keys(value.properties ?? {}).length > 2
      if (isThing) seen.set(JSON.stringify(value), (seen.get(JSON.stringify(value)) ?? 0) + 1)
      return value
    })
    const unnamed = [...seen].filter(([, times]) => times > 1).map(([text]) => text.slice(0, 200))
    expect(unnamed, 'give it a name beside its schema: `z.globalRegistry.add(thing, { id: … })`').toEqual([])
  })
})

/** The parts of JSON Schema that lead to what a read shows. */
interface Shown {
  $ref?: string
  type?: string
  items?: Shown
  anyOf?: Shown[]
  properties?: Record<string, Shown>
}

/** An operation of the document, as far as its answer. */
interface Answering {
  responses: { 200: { content: { 'application/json': { schema: Shown } } } }
}

/** What a read shows: each of a list, each of a page, or what may be missing. */
function thingIn(shown: Shown): Shown {
  const { items = shown.properties?.items?.items, anyOf } = shown
  if (items) return thingIn(items)
  const [there] = anyOf?.filter(({ type }) => type !== 'null') ?? []
  return there ? thingIn(there) : shown
}

/** What the compiler has to say, strictly; empty where it is content. */
async function compile(...files: string[]): Promise<string> {
  const options = ['--noEmit', '--strict', '--target', 'es2024', '--module', 'nodenext', '--skipLibCheck']
  try {
    await run(
      process.execPath,
      [TSC, ...options, '--allowImportingTsExtensions', '--ignoreConfig', ...files],
      {
        cwd: folder,
      },
    )
    return ''
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? error)
  }
}
