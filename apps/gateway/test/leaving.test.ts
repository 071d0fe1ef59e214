import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { deployInstance, listInstances, startWebTerminal } from '@berth/contract/instances'
import { addSshKey } from '@berth/contract/ssh-keys'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually, openTerminal } from '../src/domains/reach/reach-fixture.ts'
import { createFakeEngine } from '../src/drivers/compute/fake/fake-engine.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { systemClock } from '../src/platform/clock.ts'
import { systemIds } from '../src/platform/ids.ts'
import { QUESTION, startModelGateway } from './model-gateway.ts'
import { pauses } from './model-server.ts'
import { clientOf } from './s3-conformance.ts'
import { type S3Gateway, startS3Gateway } from './s3-volume.ts'
import { createSshClient, hasProgram, resultOf } from './ssh-client.ts'

/**
 * Goal: a gateway that is replaced cuts nobody off in the middle, and keeps nobody who could be elsewhere.
 * Method: one of the sandbox with a customer by each way, who is in the middle of something when it is told to end.
 */

const sandbox = await probeSandbox()
const missing = sandbox.ok ? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed') : sandbox.why
if (missing !== null) process.stdout.write(`SKIP a gateway that leaves: ${missing}\n`)

const BODY = Buffer.alloc(400_000, 'x')
const GRACE_MS = 60_000

describe.skipIf(missing !== null)('a gateway that leaves', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-leaving-'))
  let s3: S3Gateway
  beforeAll(async () => {
    s3 = await startS3Gateway({ graceMs: GRACE_MS, sshPort: 0 })
  }, 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('[B14] [B1] [R2.25] lets uploads and SSH go on to their end, sends terminals elsewhere at once, and takes nobody new', async () => {
    const { gateway, token } = s3
    const [machine, volume] = await Promise.all([startMachine(), s3.volume()])
    const sshPort = gateway.gateway.ssh?.port ?? 0
    const ssh = createSshClient({ folder, port: sshPort })
    const { file: key, line } = ssh.makeKey('laptop')
    await gateway.data(addSshKey, { body: { name: '', public_key: line } }, { token })
    await ssh.learnHost()

    const child = ssh.start('ssh', key, [`${machine}@127.0.0.1`, 'echo up; read line; echo "heard $line"'])
    const result = resultOf(child)
    await once(child.stdout, 'data')
    const client = clientOf(volume)
    const url = await getSignedUrl(client, new PutObjectCommand({ Bucket: volume.bucket, Key: 'late' }))
    client.destroy()
    const put = request(url, { method: 'PUT', headers: { 'content-length': BODY.length } })
    const answered = once(put, 'response') as Promise<[IncomingMessage]>
    await new Promise<void>(resolve => put.write(BODY.subarray(0, 100_000), () => resolve()))
    const { ticket } = await gateway.data(startWebTerminal, { body: { instance_id: machine } }, { token })
    const terminal = await openTerminal(gateway.origin, ticket)
    await terminal.shows(/[#$] $/)

    const left = s3.stop()
    expect((await terminal.closed).code).toBe(1001)
    for (const port of [gateway.port, sshPort, Number(new URL(url).port)]) await refuses(port)

    child.stdin.write('you\n')
    expect(await result).toMatchObject({ code: 0, out: 'up\nheard you\n' })
    expect(existsSync(join(volume.path, 'late'))).toBe(false)
    put.end(BODY.subarray(100_000))
    expect((await answered)[0].statusCode).toBe(200)
    expect(existsSync(join(volume.path, 'late'))).toBe(true)
    const endsBy = performance.now() + GRACE_MS / 2
    await left
    // With the last of them, and not when their time is up.
    expect(performance.now()).toBeLessThan(endsBy)
  }, 120_000)

  async function startMachine(): Promise<string> {
    const { gateway, token } = s3
    const body = deployBody({ http_ports: [], tcp_ports: [] })
    const { instance_id } = await gateway.data(deployInstance, { body }, { token })
    await eventually('a machine that runs', async () => {
      const [one] = await gateway.data(listInstances, {}, { token })
      return one?.status === 'running'
    })
    return instance_id
  }
})

test('[B14] what a gateway that leaves looked after goes on at another one at once, while its own calls go on', async () => {
  const compute = createFakeEngine({ clock: systemClock })
  const models = await startModelGateway({ compute, graceMs: GRACE_MS })
  const { gateway } = models.gateway
  const other = await models.another({ gatewayId: systemIds.uuid(), graceMs: 0 })
  const customer = await models.customer()
  expect(gateway.fleet.serves(compute.id)).toBe(true)
  const toTheEnd = Promise.withResolvers<void>()
  models.server.answer(
    pauses(['to ', 'the end'], toTheEnd.promise, { prompt_tokens: 1, completion_tokens: 1 }),
  )
  const stream = await customer.client().chat.completions.create({ ...QUESTION, stream: true })
  const left = gateway.leave().then(gateway.stopRequests)
  await expect.poll(() => other.gateway.fleet.serves(compute.id), { timeout: 10_000 }).toBe(true)
  const { token } = customer
  const { instance_id } = await other.data(deployInstance, { body: deployBody() }, { token })
  await eventually('an instance that runs', async () => {
    const [one] = await other.data(listInstances, {}, { token })
    return one?.instance_id === instance_id && one.status === 'running'
  })
  toTheEnd.resolve()
  let said = ''
  for await (const { choices } of stream) said += choices[0]?.delta.content ?? ''
  expect(said).toBe('to the end')
  await left
  await other.stop()
  await models.stop()
}, 60_000)

/** Waits until nobody listens at a port any more. */
async function refuses(port: number): Promise<void> {
  const code = async () => {
    const socket = connect(port, '127.0.0.1')
    const [error] = await once(socket, 'connect').then(
      () => [null],
      error => [error as NodeJS.ErrnoException],
    )
    socket.destroy()
    return error?.code
  }
  await expect.poll(code, { timeout: 10_000 }).toBe('ECONNREFUSED')
}
