import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deleteAccount } from '@berth/contract/account-security'
import { diagnoseConnection } from '@berth/contract/connection-doctor'
import { deployInstance, editInstance, getConnection, listInstances } from '@berth/contract/instances'
import { addSshKey, removeSshKey } from '@berth/contract/ssh-keys'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually } from '../src/domains/reach/reach-fixture.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import { createSecurityToken } from './security-token.ts'
import { createSshClient, hasProgram, resultOf, type SshClient } from './ssh-client.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const SETUP_MS = 180_000

const sandbox = await probeSandbox()
const missing = sandbox.ok ? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed') : sandbox.why
if (missing !== null) process.stdout.write(`SKIP who signs in by SSH: ${missing}\n`)

// Goal: who is let in by SSH, and for how long. Method: OpenSSH's own clients against a real
// gateway, and one real machine of the sandbox.
describe.skipIf(missing !== null)('who signs in by SSH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-sign-in-'))
  let gateway: TestGateway
  let ssh: SshClient
  let token: string
  let userId: string
  let id: string
  let at: string

  beforeAll(async () => {
    const engine = await createSandboxEngine({
      dataDir: join(folder, 'machines'),
      log: pino({ level: 'silent' }),
    })
    gateway = await startGateway({ compute: engine, sshPort: 0 })
    const customer = await gateway.signUp()
    ;({ token, userId } = customer)
    await gateway.grant(customer.userId, 1_000)
    const body = deployBody({ http_ports: [] })
    ;({ instance_id: id } = await gateway.data(deployInstance, { body }, { token }))
    at = `${id}@127.0.0.1`
    ssh = createSshClient({ folder, port: gateway.gateway.ssh?.port ?? 0 })
    await ssh.learnHost()
    await eventually('a machine', async () => {
      const [one] = await gateway.data(listInstances, {}, { token })
      return one?.status === 'running'
    })
  }, SETUP_MS)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, SETUP_MS)

  const store = async (public_key: string, by = token) =>
    (await gateway.data(addSshKey, { body: { name: '', public_key } }, { token: by })).id
  const open = () => gateway.gateway.reach.ssh?.count().customers

  test('[B1] a key that others have stored too lets in by whose instance it is, and goes with its own account alone', async () => {
    const other = await gateway.signUp()
    const shared = ssh.makeKey('shared')
    const theirs = await store(shared.line, other.token)
    const foreign = await ssh.run('ssh', shared.file, [at, 'true'])
    expect([foreign.code, foreign.err]).toEqual([255, expect.stringContaining(`no instance ${id}`)])
    const mine = await store(shared.line)
    const child = ssh.start('ssh', shared.file, [at, 'echo up; sleep 3000'])
    const ended = resultOf(child)
    await new Promise(resolve => child.stdout.once('data', resolve))
    await gateway.data(removeSshKey, { params: { id: theirs } }, { token: other.token })
    expect((await ssh.run('ssh', shared.file, [at, 'echo in'])).out).toBe('in\n')
    expect(child.exitCode).toBeNull()
    await gateway.data(removeSshKey, { params: { id: mine } }, { token })
    expect(await ended).toMatchObject({ code: 255, err: expect.stringContaining('was removed from') })
  })

  test('[R1.7] [R4.5] of the stored keys those that are chosen for an instance let in, and go on to while they are', async () => {
    const [one, other] = [ssh.makeKey('one'), ssh.makeKey('other')]
    const [oneId, otherId] = [await store(one.line), await store(other.line)]
    const choose = (ssh_key_ids: string[] | null) =>
      gateway.data(editInstance, { body: { instance_id: id, ssh_key_ids } }, { token })
    const run = (key: { file: string }) => ssh.run('ssh', key.file, [at, 'echo in'])
    const diagnosed = async () => {
      const { findings } = await gateway.data(diagnoseConnection, { params: { id } }, { token })
      return findings.map(({ code }) => code)
    }
    await choose([oneId])
    expect(await run(other)).toMatchObject({ code: 255, err: expect.stringContaining('not among those') })
    await eventually('what it came to', async () => (await diagnosed()).includes('key_not_chosen'))
    expect((await run(one)).out).toBe('in\n')
    const child = ssh.start('ssh', one.file, [at, 'echo up; sleep 3000'])
    const ended = resultOf(child)
    await new Promise(resolve => child.stdout.once('data', resolve))
    await choose([otherId])
    expect(await ended).toMatchObject({ code: 255, err: expect.stringContaining('may not sign in') })
    expect((await run(other)).out).toBe('in\n')
    // Nobody gets in by a key that is gone, and none takes its place.
    await gateway.data(removeSshKey, { params: { id: otherId } }, { token })
    expect((await run(one)).code).toBe(255)
    expect(await diagnosed()).toContain('key_none_chosen')
    await choose(null)
    expect((await run(one)).out).toBe('in\n')
  })

  test('[R1.7] an account that is closed ends what its keys have opened', async () => {
    const other = await gateway.signUp()
    const key = ssh.makeKey('closed')
    await store(key.line, other.token)
    await eventually('no connection', () => open() === 0)
    const child = ssh.start('ssh', key.file, ['-N', at])
    const ended = resultOf(child)
    await eventually('one connection', () => open() === 1)
    await gateway.data(deleteAccount, { body: { email: other.email } }, { token: other.token })
    expect((await ended).code).toBe(255)
    const late = await ssh.run('ssh', key.file, [at, 'true'])
    expect(late.err).toContain('does not know the key')
  })

  test.each(['ed25519', 'ecdsa'] as const)(
    '[R1.7] the %s key of a security token lets in when it was touched',
    async kind => {
      const security = await createSecurityToken(folder, kind)
      await store(security.line)
      const run = () => ssh.run('ssh', security.file, [at, 'echo in'], '', security.socket)
      expect(await run()).toMatchObject({ code: 0, out: 'in\n' })
      security.touched = false
      expect((await run()).err).toContain('Permission denied')
      security.close()
    },
  )

  // Its sessions end with it: nothing that needs one comes after.
  test('[R6.5] an account that is suspended ends what its keys have opened, programs and forwards, and says why', async () => {
    const key = ssh.makeKey('suspended')
    await store(key.line)
    await eventually('no connection', () => open() === 0)
    const program = ssh.start('ssh', key.file, [at, 'echo up; sleep 3000'])
    const forward = ssh.start('ssh', key.file, ['-N', '-L', `${folder}/forward:localhost:80`, at])
    const [ended, forwarded] = [resultOf(program), resultOf(forward)]
    await new Promise(resolve => program.stdout.once('data', resolve))
    await eventually('two connections', () => open() === 2)
    const { desk } = gateway.gateway.identity
    const machinesUntil = new Date(Date.now() + 86_400_000)
    await desk.suspend({ userId, reason: 'abuse', machinesUntil })
    expect(await ended).toMatchObject({
      code: 255,
      err: expect.stringContaining('This account is suspended'),
    })
    // One that only forwards has no terminal to say anything on.
    expect((await forwarded).code).toBe(255)
    expect((await ssh.run('ssh', key.file, [at, 'true'])).code).toBe(255)
    await desk.resume(userId)
    expect((await ssh.run('ssh', key.file, [at, 'echo in'])).out).toBe('in\n')
  })

  test('[R2.23] a gateway whose SSH port is taken starts all the same, and offers none', async () => {
    const late = await startGateway({ sshPort: gateway.gateway.ssh?.port ?? 0 })
    try {
      expect(late.gateway.ssh).toMatchObject({ port: gateway.gateway.ssh?.port, why: 'EADDRINUSE' })
      const customer = await late.signUp()
      await late.grant(customer.userId, 1_000)
      const by = { token: customer.token }
      const { instance_id } = await late.data(deployInstance, { body: deployBody() }, by)
      const running = async () => (await late.data(listInstances, {}, by))[0]?.status === 'running'
      await eventually('a machine', running)
      expect((await late.data(getConnection, { params: { id: instance_id } }, by)).ssh).toBeNull()
    } finally {
      await late.stop()
    }
  })
})
