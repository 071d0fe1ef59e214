import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLayoutFolder } from '../../image-store/layout/layout-folder.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, expectCode, never, text } from '../conformance/tools.ts'
import { createDockerEngine } from '../docker/docker-engine.ts'
import { probeDocker } from '../docker/probe-docker.ts'
import type { Engine } from '../port/engine.ts'
import { offered } from '../port/part.ts'
import { useImageEngine, usePrograms } from './image-engine-fixture.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const log = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'berth-own-images-'))
const probe = await probeSandbox()
const dockerProbe = await probeDocker()
const nothing = () => undefined

/** What is in its image, and what a machine makes of it while it runs. */
const ENTRIES = [
  { name: 'srv/', type: '5', mode: 0o755 },
  { name: 'srv/gone', content: 'of the image' },
  { name: 'srv/kept', content: 'of the image' },
  { name: 'opt/whole/old', content: 'of the image' },
]
const CHANGE =
  'rm /srv/gone; echo changed > /srv/kept; rm -r /opt/whole; mkdir /opt/whole; echo new > /opt/whole/new; ' +
  'mkdir -p /srv/a/b; ln -s /etc/hostname /srv/a/soft; echo x > /srv/a/one; ln /srv/a/one /srv/a/two; ' +
  'chmod 4750 /srv/a/one; chown 7:8 /srv/kept 2>/dev/null || true; mv /srv/a/b /srv/a/c'
const LOOK =
  'ls /srv; cat /srv/kept; ls /opt/whole; cat /opt/whole/new; [ -L /srv/a/soft ] && echo a link; ls /srv/a; ' +
  '[ /srv/a/one -ef /srv/a/two ] && echo one file; cat /etc/hostname'
const seenBy = (hostname: string) =>
  `a\nkept\nchanged\nnew\nnew\na link\nc\none\nsoft\ntwo\none file\n${hostname}\n`

describeWhere('images of sandboxes', probe, () => {
  const programs = usePrograms(folder)
  for (const roots of [undefined, 'copies'] as const) {
    const dir = join(folder, roots ?? 'shared')
    const { engine, make, start } = useImageEngine(programs.packed, {
      dataDir: join(dir, 'first'),
      ...(roots && { roots }),
    })
    const store = createLayoutFolder(join(dir, 'store'), { bytes_max: 1e10, free_bytes_min: 0 })
    const own = (of: Engine) => offered(of.images.own)
    let other: Engine
    beforeAll(async () => {
      other = await createSandboxEngine({ dataDir: join(dir, 'second'), log })
    })
    afterAll(async () => {
      for (const { id } of await other.machines.list()) await other.machines.remove(id, never)
      await other.shutdown()
    })

    test(`[R4.6] [B20] what a running machine has changed runs on another computer and on Docker (roots: ${roots ?? 'shared'})`, async context => {
      const spec = await make(
        'first',
        ENTRIES,
        { Cmd: ['sleep', '1000'], Env: ['PATH=/usr/bin:/bin'], WorkingDir: '/srv' },
        { env: { SECRET: 'given to one alone' } },
      )
      await start('first')
      await text(engine(), 'first', CHANGE)
      await own(engine()).build({ machine_id: 'first', image_id: 'snapshot' }, nothing, never)
      // It runs on, and what it changes now is in no image that was made.
      await text(engine(), 'first', 'echo later > /srv/later')
      const { digest, new_bytes, size_bytes } = await store.put(own(engine()).save('snapshot', never), never)
      expect(new_bytes).toBe(size_bytes)

      const image = await own(other).load('moved', store.get(digest, never), never)
      await other.machines.create(smallMachine('second', image, { hostname: 'elsewhere' }), never)
      await other.machines.start('second', never)
      await other.machines.begin('second', never)
      expect(await text(other, 'second', LOOK)).toBe(seenBy('elsewhere'))
      expect(await text(other, 'second', 'tr "\\0" "\\n" < /proc/1/environ; env')).not.toContain(
        'given to one alone',
      )

      // An image of the image shares all layers but its own, where it lies over them.
      await text(other, 'second', 'echo more > /srv/more')
      await own(other).build({ machine_id: 'second', image_id: 'grown' }, nothing, never)
      const grown = await store.put(own(other).save('grown', never), never)
      expect(grown.new_bytes).toBeLessThan(100_000)
      await engine().machines.remove(spec.id, never)

      if (!dockerProbe.ok) return context.skip(dockerProbe.why)
      const { socket_path } = dockerProbe
      const cloudId = `own${process.pid}`
      const docker = await createDockerEngine({
        place: { kind: 'unix', socket_path },
        cloudId,
        egress: null,
        log,
      })
      try {
        const there = await own(docker).load('from-a-sandbox', store.get(grown.digest, never), never)
        await docker.machines.create(smallMachine('third', there, { hostname: 'docked' }), never)
        await docker.machines.start('third', never)
        await docker.machines.begin('third', never)
        expect(await text(docker, 'third', `rm /srv/more; ${LOOK}`)).toBe(seenBy('docked'))
        await docker.machines.remove('third', never)
        await own(docker).delete('from-a-sandbox')
      } finally {
        await docker.shutdown()
        await new Docker({ socketPath: socket_path }).getNetwork(`berth-${cloudId}`).remove()
      }
    })
  }

  test('a machine on its computer’s own programs makes none, and says why', async () => {
    const engine = await createSandboxEngine({ dataDir: join(folder, 'host'), log })
    try {
      await engine.machines.create(smallMachine('plain', { id: 'host', parts: { sandbox: 'host' } }), never)
      const build = offered(engine.images.own).build(
        { machine_id: 'plain', image_id: 'none' },
        nothing,
        never,
      )
      await expectCode(build, 'unsupported')
      await expect(build).rejects.toThrow('keeps only its home')
      expect(readdirSync(join(folder, 'host', 'oci/own/images')).length).toBe(0)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    } finally {
      await engine.machines.remove('plain', never)
      await engine.shutdown()
    }
  })
})
