import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CODE_LANGUAGES, type CodeLanguage, deployCode, TOKEN_VARIABLE } from '@berth/contract/deploy-code'
import {
  addDeployTemplate,
  getDeployTemplate,
  getInstanceSetup,
  listDeployTemplates,
  removeDeployTemplate,
  renameDeployTemplate,
} from '@berth/contract/deploy-templates'
import { deployBody, deployInstance, listInstances } from '@berth/contract/instances'
import { TEMPLATES_PER_USER_MAX } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { instance } from '../instances/tables.ts'
import { deployTemplate } from './tables.ts'

const run = promisify(execFile)

const SECRET = `it's "se$cret" \\ and\nmore`
/** Everything that a shell, JSON or a program could take for something else. */
const BODY = deployBody.parse({
  name: 'again',
  region_code: 'us-west',
  gpu_spec_id: 'cpu',
  gpu_count: 1,
  image_id: 'berth-base',
  container_disk_gb: 40,
  http_ports: [8080],
  env: { MODE: `a 'b' "c" $(id) \`id\` \\ \${x} <d>\n%`, HF_TOKEN: SECRET },
  secret_env: ['HF_TOKEN', 'NO_VARIABLE'],
  start_command: `echo "it's $HOME" && sleep 1 # \\`,
  on_command_end: 'stop',
  stop_at: new Date(Date.now() + 86_400_000).toISOString(),
  spend_limit_cents: 500,
  // Of a term; what runs on demand has none.
  price_micro: '1',
})
const KEPT = { ...BODY, env: { ...BODY.env, HF_TOKEN: '' }, stop_at: null, price_micro: null }
/** What runs on demand has no term to renew, and a name of none of its variables is no secret. */
const RUNNING = { ...KEPT, auto_renew: false, secret_env: ['HF_TOKEN'] }

let gateway: TestGateway
let token: string
let userId: string
beforeAll(async () => {
  gateway = await startGateway()
  ;({ token, userId } = await gateway.signUp())
  await gateway.grant(userId, 10_000)
})
afterAll(() => gateway?.stop())

const add = (name: string, by = token) =>
  gateway.call(addDeployTemplate, { body: { name, setup: BODY } }, { token: by })

test('[B18] a deploy is kept as a template, used, renamed and removed; no secret leaves by it', async () => {
  const { id } = await gateway.data(addDeployTemplate, { body: { name: 'training', setup: BODY } }, { token })
  expect(await gateway.data(getDeployTemplate, { params: { id } }, { token })).toEqual(KEPT)
  const [row] = await gateway.database.db.select().from(deployTemplate).where(eq(deployTemplate.id, id))
  expect(JSON.stringify(row)).not.toContain('secret" ')
  expect(JSON.stringify(row)).not.toContain('more')
  expect((await add('training')).envelope).toMatchObject({ fields: [{ path: 'name', rule: 'name_taken' }] })
  await gateway.data(addDeployTemplate, { body: { name: 'other', setup: BODY } }, { token })
  const taken = await gateway.call(
    renameDeployTemplate,
    { params: { id }, body: { name: 'other' } },
    { token },
  )
  expect(taken.envelope).toMatchObject({ fields: [{ path: 'name', rule: 'name_taken' }] })
  await gateway.data(renameDeployTemplate, { params: { id }, body: { name: 'a first' } }, { token })
  const names = async () => (await gateway.data(listDeployTemplates, {}, { token })).map(({ name }) => name)
  expect(await names()).toEqual(['a first', 'other'])
  await gateway.data(removeDeployTemplate, { params: { id } }, { token })
  expect(await names()).toEqual(['other'])
  expect((await gateway.call(removeDeployTemplate, { params: { id } }, { token })).httpStatus).toBe(404)
})

test('[B18] [R6.4] another customer’s template is not there, and an account has a limit of them', async () => {
  const { token: other, userId: otherId } = await gateway.signUp()
  const { id } = await gateway.data(addDeployTemplate, { body: { name: 'mine', setup: BODY } }, { token })
  const at = { params: { id } }
  expect((await gateway.call(getDeployTemplate, at, { token: other })).httpStatus).toBe(404)
  expect((await gateway.call(removeDeployTemplate, at, { token: other })).httpStatus).toBe(404)
  const renamed = { ...at, body: { name: 'x' } }
  expect((await gateway.call(renameDeployTemplate, renamed, { token: other })).httpStatus).toBe(404)
  expect(await gateway.data(listDeployTemplates, {}, { token: other })).toEqual([])
  const rows = Array.from({ length: TEMPLATES_PER_USER_MAX }, (_, at) => ({
    id: crypto.randomUUID(),
    userId: otherId,
    name: `template ${at}`,
    setup: KEPT,
    createdAt: new Date(),
  }))
  await gateway.database.db.insert(deployTemplate).values(rows)
  expect((await add('one more', other)).envelope).toMatchObject({ code: 'deploy_template_limit' })
})

test('[B18] what an older version kept has today’s defaults', async () => {
  const { id } = await gateway.data(addDeployTemplate, { body: { name: 'old', setup: BODY } }, { token })
  const { on_command_end: _, image_reference: __, ...old } = KEPT
  await gateway.database.db.update(deployTemplate).set({ setup: old }).where(eq(deployTemplate.id, id))
  const read = await gateway.data(getDeployTemplate, { params: { id } }, { token })
  expect(read).toMatchObject({ on_command_end: 'keep', image_reference: null })
})

test('[B18] [R6.4] another is deployed like an instance, whose secrets stay where they are', async () => {
  const { instance_id } = await gateway.data(deployInstance, { body: BODY }, { token })
  const of = { params: { id: instance_id } }
  expect(await gateway.data(getInstanceSetup, of, { token })).toEqual(RUNNING)
  const { token: other } = await gateway.signUp()
  expect((await gateway.call(getInstanceSetup, of, { token: other })).httpStatus).toBe(404)
})

/** Runs a program as a customer would, with the secret put in its place. */
const PROGRAMS: Record<CodeLanguage, (code: string, folder: string) => Promise<unknown>> = {
  curl: code => run('sh', ['-c', code.replace('<HF_TOKEN>', 'for-a-shell')], { env: environment() }),
  async typescript(code, folder) {
    const file = join(folder, 'deploy.mts')
    await writeFile(file, code.replace('"<HF_TOKEN>"', JSON.stringify(SECRET)))
    await run(process.execPath, [file], { env: environment() })
  },
}
const environment = () => ({ PATH: process.env.PATH, [TOKEN_VARIABLE]: token })

test.for(CODE_LANGUAGES)(
  '[B18] the same call as %s deploys what the form would',
  async (language, context) => {
    const program = language === 'curl' ? 'curl' : process.execPath
    const isHere = await run(program, ['--version']).catch(() => null)
    if (!isHere) return context.skip(`no ${program} is installed`)
    const name = `as-${language}`
    const code = deployCode(language, gateway.origin, { ...BODY, name })
    expect(code).not.toContain('se$cret')
    expect(code).not.toContain(token)
    const folder = await mkdtemp(join(tmpdir(), 'berth-code-'))
    try {
      await PROGRAMS[language](code, folder)
    } finally {
      await rm(folder, { recursive: true })
    }
    const made = (await gateway.data(listInstances, {}, { token })).find(one => one.name === name)
    const setup = await gateway.data(getInstanceSetup, { params: { id: made?.instance_id ?? '' } }, { token })
    expect(setup).toEqual({ ...RUNNING, name })
    const [row] = await gateway.database.db
      .select({ env: instance.env })
      .from(instance)
      .where(eq(instance.id, made?.instance_id ?? ''))
    expect(row?.env).toEqual({ ...BODY.env, HF_TOKEN: language === 'curl' ? 'for-a-shell' : SECRET })
  },
)
