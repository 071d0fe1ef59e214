import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never, text } from '../conformance/tools.ts'
import { openDatagrams } from '../port/datagram-line.ts'
import type { Engine } from '../port/engine.ts'
import { offered } from '../port/part.ts'
import { createNames } from './container-plan.ts'
import { removeCloud } from './docker-cloud-fixture.ts'
import { createDockerEngine } from './docker-engine.ts'
import { createDockerLink, type DockerLink } from './docker-link.ts'
import { connectPort, type PortsOf } from './docker-ports.ts'
import { createDockerUdp } from './docker-udp.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

const log = pino({ level: 'silent' })
const probe = await probeDocker()
const PORT = 8_080
const GONE_MS = 30_000
/** Says who it is to whoever comes by TCP, and to each datagram. */
const SERVER = `setsid perl -e '$who = shift;
  if (fork) { socket(S,2,1,0); setsockopt(S,1,2,pack("i",1)); bind(S,pack("Sna4x8",2,${PORT},"\\0\\0\\0\\0")) or die; listen(S,9);
    while (accept(C,S)) { syswrite(C,$who); close C } }
  else { socket(U,2,2,0); bind(U,pack("Sna4x8",2,${PORT},"\\0\\0\\0\\0")) or die;
    while (defined($from = recv(U,$b,65536,0))) { send(U,"$who heard $b",0,$from) } }' WHO > /dev/null 2>&1 &`

// Goal: whoever is connected to one customer's machine is never connected to the next one at its address. Method: machines
// are ended and others made at the very moment that lies between the two, on a real engine.
describeWhere('docker', probe, () => {
  const socketPath = probe.ok ? probe.socket_path : ''
  const docker = new Docker({ socketPath })
  const cloudId = `test-${randomBytes(4).toString('hex')}`
  const names = createNames(cloudId)
  const image = { id: 'test', parts: { docker: '' } }
  let engine: Engine
  let made: string[] = []

  beforeAll(async () => {
    image.parts.docker = await importTestImage(docker)
    engine = await createDockerEngine({
      place: { kind: 'unix', socket_path: socketPath },
      cloudId,
      egress: null,
      log,
    })
  })
  afterEach(async () => {
    for (const id of made) await engine.machines.remove(id, never)
    made = []
  })
  afterAll(async () => {
    await engine.shutdown()
    await removeCloud(docker, cloudId)
  })

  const inspected = (id: string) => docker.getContainer(names.container(id)).inspect()
  const addressOf = async (id: string) =>
    (await inspected(id)).NetworkSettings.Networks[names.network]?.IPAddress
  async function serving(): Promise<string> {
    const id = `m-${randomBytes(4).toString('hex')}`
    made.push(id)
    await engine.machines.create(smallMachine(id, image), never)
    await engine.machines.start(id, never)
    await text(engine, id, SERVER.replace('WHO', id))
    await eventually(async () => (await engine.network.connect(id, PORT)).destroy())
    return id
  }
  /** Ends a machine, and makes others until one has its address, which serves as it did. */
  async function replaced(id: string): Promise<string> {
    const address = await addressOf(id)
    await engine.machines.remove(id, never)
    const next = await serving()
    expect(await addressOf(next)).toBe(address)
    return next
  }
  function machine(id: string, dial: (link: DockerLink) => DockerLink['dial']): PortsOf {
    const link = createDockerLink({ kind: 'unix', socket_path: socketPath }, log)
    return {
      id,
      container: docker.getContainer(names.container(id)),
      network: names.network,
      link: { reaches_containers: true, dial: dial(link) },
      relays: { isThere: () => false, connect: async () => null },
    }
  }

  test('[R2.23] a machine that is replaced at its address before it is connected to is not taken for the next one', async () => {
    const id = await serving()
    let reached: Duplex | null = null
    const late = machine(id, link => async (host, port) => {
      await replaced(id)
      const answer = await link.dial(host, port)
      if (!(answer instanceof Error)) reached = answer
      return answer
    })
    await expect(connectPort(late, PORT)).rejects.toMatchObject({ statusCode: 404 })
    // The other one was there to be reached, and nothing of it was handed on.
    expect(reached).toMatchObject({ destroyed: true })
  })

  test('[R2.23] one that is stopped and started again meanwhile is not taken for the one before', async () => {
    const id = await serving()
    const late = machine(id, link => async (host, port) => {
      await engine.machines.stop(id, never, { at_once: true })
      await engine.machines.start(id, never)
      await text(engine, id, SERVER.replace('WHO', id))
      await eventually(async () => (await engine.network.connect(id, PORT)).destroy())
      return link.dial(host, port)
    })
    await expectCode(connectPort(late, PORT), 'not_running')
  })

  test('[R2.23] datagrams to a machine that has ended do not come to the next one at its address', async () => {
    const id = await serving()
    const heard: string[] = []
    const flow = openDatagrams(await offered(engine.network.udp).open(id, PORT))
    const closed = new Promise<void>(resolve => flow.onClose(resolve))
    flow.onDatagram(datagram => heard.push(datagram.toString()))
    await eventually(() => {
      flow.send(Buffer.from('one'))
      expect(heard).toContain(`${id} heard one`)
    })
    await engine.machines.remove(id, never)
    await closed
    flow.send(Buffer.from('two'))
    await serving()
    flow.send(Buffer.from('three'))
    // Of the machine itself some answers may have come late.
    expect(heard.filter(answer => answer !== `${id} heard one`)).toEqual([])
  })

  test('[R2.23] a way for datagrams is not opened to the next machine at an address', async () => {
    const id = await serving()
    const udp = createDockerUdp({
      link: { reaches_containers: true },
      network: names.network,
      // What is done here is done between the look at the machine and the one after.
      followEvents: (_onChange, onHearing) => {
        void replaced(id).then(onHearing)
        return () => undefined
      },
    })
    await expectCode(udp.open(id, docker.getContainer(names.container(id)), PORT), 'not_running')
    udp.close()
  })

  test(
    '[R2.23] what reaches into a machine ends by itself with the machine, also while no gateway runs, and with its gateways',
    async () => {
      const id = await serving()
      await text(engine, id, SERVER.replaceAll('0\\0\\0\\0"', '177\\0\\0\\1"').replaceAll(`${PORT}`, '8123'))
      const other = await createDockerEngine({
        place: { kind: 'unix', socket_path: socketPath },
        cloudId,
        egress: null,
        log,
      })
      const [one, two] = [await engine.network.connect(id, 8123), await other.network.connect(id, 8123)]
      for (const stream of [one, two]) stream.destroy()
      const relay = docker.getContainer(names.relay(id))
      const { HostConfig, Config, State } = await relay.inspect()
      expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], AutoRemove: true })
      expect(HostConfig.NetworkMode).toBe(`container:${(await inspected(id)).Id}`)
      expect([Config.User, State.Running]).toEqual(['65534:65534', true])
      await other.shutdown()
      // Nobody else's: it stays for the other gateway, and for a machine that another client stops it does not.
      await docker.getContainer(names.container(id)).stop({ t: 0 })
      await expect
        .poll(() => relay.inspect().catch(({ statusCode }) => statusCode), { timeout: GONE_MS })
        .toBe(404)
      await engine.machines.start(id, never)
      await text(engine, id, SERVER.replaceAll('0\\0\\0\\0"', '177\\0\\0\\1"').replaceAll(`${PORT}`, '8123'))
      await eventually(async () => (await engine.network.connect(id, 8123)).destroy())
      expect((await relay.inspect()).State.Running).toBe(true)
      await engine.shutdown()
      await expect
        .poll(() => relay.inspect().catch(({ statusCode }) => statusCode), { timeout: GONE_MS })
        .toBe(404)
    },
    3 * GONE_MS,
  )
})
