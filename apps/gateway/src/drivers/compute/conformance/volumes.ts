import { randomBytes } from 'node:crypto'
import { expect, type TestContext, test } from 'vitest'
import type { MachineSpec } from '../port/machines.ts'
import { lackOf, offered } from '../port/part.ts'
import { expectCode, never, type Subject, text } from './tools.ts'

const MB = 1024 ** 2

/** How every driver keeps volumes, and attaches them to machines. */
export function describeVolumes(subject: Subject): void {
  const newId = () => `vol-${randomBytes(5).toString('hex')}`
  const store = () => offered(subject.engine().volumes)
  const skipWithout = (ctx: TestContext) => {
    const why = lackOf(subject.engine().volumes)
    if (why !== null) ctx.skip(why)
  }

  test('a volume is made, grown and deleted by its id, as often as one likes', async ctx => {
    skipWithout(ctx)
    const id = newId()
    await expectCode(store().grow({ id, size_gb: 2 }), 'not_found')
    await Promise.all([store().make({ id, size_gb: 1 }), store().make({ id, size_gb: 1 })])
    await store().make({ id, size_gb: 1 })
    await store().grow({ id, size_gb: 2 })
    await store().grow({ id, size_gb: 2 })
    expect((await store().list()).filter(one => one === id)).toEqual([id])
    await store().delete(id)
    await store().delete(id)
    expect(await store().list()).not.toContain(id)
    for (const wrong of ['../up', 'A', '']) {
      await expectCode(store().make({ id: wrong, size_gb: 1 }), 'unsupported')
    }
  })

  test('a volume that is not there, or is put where none can be, makes no machine', async ctx => {
    skipWithout(ctx)
    const { machines } = subject.engine()
    const id = newId()
    await store().make({ id, size_gb: 1 })
    const mount = { id, path: '/data', read_only: false }
    const wrong: [MachineSpec['volumes'], 'unsupported'][] = [
      [[{ ...mount, path: 'data' }], 'unsupported'],
      [[{ ...mount, path: '/' }], 'unsupported'],
      [[{ ...mount, path: '/data/../etc' }], 'unsupported'],
      [[{ ...mount, path: '/etc/x' }], 'unsupported'],
      [[{ ...mount, path: '/proc' }], 'unsupported'],
      [[mount, { ...mount, id: newId(), path: '/data/deep' }], 'unsupported'],
    ]
    for (const [volumes, code] of wrong) {
      await expectCode(machines.create(subject.spec({ volumes: volumes ?? [] }), never), code)
    }
    const missing = subject.spec({ volumes: [{ ...mount, id: newId() }] })
    const made = async () => {
      await machines.create(missing, never)
      await machines.start(missing.id, never)
    }
    await expectCode(made(), 'not_found')
    await machines.remove(missing.id, never)
    await store().delete(id)
  })

  test('a volume that a machine has attached is not deleted', async ctx => {
    skipWithout(ctx)
    const { machines } = subject.engine()
    const id = newId()
    await store().make({ id, size_gb: 1 })
    const spec = subject.spec({ volumes: [{ id, path: '/data', read_only: false }] })
    await machines.create(spec, never)
    await expectCode(store().delete(id), 'failed')
    expect(await store().list()).toContain(id)
    await machines.create({ ...spec, volumes: [] }, never)
    await store().delete(id)
    await machines.remove(spec.id, never)
  })

  test('what is not there is not measured, and what is empty holds next to nothing', async ctx => {
    skipWithout(ctx)
    const id = newId()
    await expectCode(store().measure(id), 'not_found')
    await store().make({ id, size_gb: 1 })
    const use = await store().measure(id)
    expect(use?.used_bytes).toBeLessThan(MB)
    await store().delete(id)
  })

  subject.inside(
    'two running machines have the same volume, or the second does not start, and the engine says which',
    async ctx => {
      skipWithout(ctx)
      const engine = subject.engine()
      const id = newId()
      await store().make({ id, size_gb: 1 })
      const volumes = [{ id, path: '/data', read_only: false }]
      const first = await subject.running({ volumes })
      await text(engine, first.id, 'echo first > /data/first')
      const second = subject.spec({ volumes })
      await engine.machines.create(second, never)
      if (store().sharing.offered) {
        await engine.machines.start(second.id, never)
        await engine.machines.begin(second.id, never)
        expect(await text(engine, second.id, 'cat /data/first; echo second > /data/second')).toBe('first\n')
        expect(await text(engine, first.id, 'cat /data/second')).toBe('second\n')
      } else {
        await expectCode(engine.machines.start(second.id, never), 'failed')
        expect(await text(engine, first.id, 'cat /data/first')).toBe('first\n')
      }
      for (const machine of [first, second]) {
        await engine.machines.stop(machine.id, never)
        await engine.machines.remove(machine.id, never)
      }
      await store().delete(id)
    },
  )

  subject.inside(
    'what one machine writes to a volume another finds there, after the first is gone',
    async ctx => {
      skipWithout(ctx)
      const engine = subject.engine()
      const id = newId()
      await store().make({ id, size_gb: 1 })
      const mount = { id, path: '/mnt/shared', read_only: false }
      const first = await subject.running({ volumes: [mount] })
      await text(
        engine,
        first.id,
        'mkdir /mnt/shared/deep; echo kept > /mnt/shared/deep/file; chmod 600 /mnt/shared/deep/file',
      )
      await text(engine, first.id, 'ln -s /etc/hostname /mnt/shared/link')
      // What lies on the disk counts, wherever in there and whoever may read it; a second name does not.
      await text(
        engine,
        first.id,
        'cd /mnt/shared/deep && head -c 8388608 /dev/urandom > big && ln big again && sync && chmod 700 .',
      )
      const use = await store().measure(id)
      expect(use?.used_bytes).toBeGreaterThan(8 * MB - 1)
      expect(use?.used_bytes).toBeLessThan(16 * MB)
      await engine.machines.remove(first.id, never)

      const second = await subject.running({ volumes: [{ ...mount, path: '/data' }] })
      expect(await text(engine, second.id, 'cat /data/deep/file')).toBe('kept\n')
      await text(engine, second.id, 'echo more >> /data/deep/file; echo mine > ~/file')
      // Read-only from the next start on, then detached: the machine keeps its home.
      await engine.machines.stop(second.id, never)
      await engine.machines.create(
        { ...second, volumes: [{ ...mount, path: '/data', read_only: true }] },
        never,
      )
      await engine.machines.start(second.id, never)
      expect(await text(engine, second.id, 'cat /data/deep/file ~/file')).toBe('kept\nmore\nmine\n')
      expect((await engine.console.exec(second.id, ['sh', '-c', 'echo no > /data/new'])).exit_code).not.toBe(
        0,
      )
      await engine.machines.stop(second.id, never)
      await engine.machines.create({ ...second, volumes: [] }, never)
      await engine.machines.start(second.id, never)
      expect(await text(engine, second.id, 'ls -A /data 2>/dev/null; cat ~/file')).toBe('mine\n')
      await store().delete(id)
      expect(await text(engine, second.id, 'cat ~/file')).toBe('mine\n')
    },
  )

  subject.inside(
    'a copy holds what was written before it, of all kinds, and goes its own way; one given up leaves nothing',
    async ctx => {
      skipWithout(ctx)
      const engine = subject.engine()
      const why = lackOf(store().copies)
      if (why !== null) ctx.skip(why)
      const { copy } = offered(store().copies)
      const [from, id, other] = [newId(), newId(), newId()]
      await store().make({ id: from, size_gb: 1 })
      const mount = { path: '/data', read_only: false }
      const machine = await subject.running({ volumes: [{ ...mount, id: from }] })
      const fill = [
        'cd /data && mkdir -m 700 closed && mkdir -p a/empty && echo kept > closed/file && chmod 640 closed/file',
        'ln closed/file a/second && ln -s /etc/hostname a/link && touch -d @1000000000 a/empty',
        'echo odd > "$(printf "a/new\nline -x")" && dd if=/dev/zero of=hole bs=1 count=1 seek=64M 2>/dev/null',
        `head -c ${32 * MB} /dev/urandom > big && sync`,
      ]
      await text(engine, machine.id, fill.join(' && '))
      const all = { bytes_max: 512 * MB }
      const tell =
        'cd /data && find . -mindepth 1 -printf "%p %y %m %U:%G %n %l\\n" | sort && stat -c %Y a/empty && cat closed/file && tail -c 99 big | od'
      const before = await text(engine, machine.id, tell)

      await expectCode(copy({ ...all, from: other, id }, never), 'not_found')
      await expectCode(copy({ from, id: other, bytes_max: 16 * MB }, never), 'failed')
      const given = new AbortController()
      const copying = expectCode(copy({ ...all, from, id: other }, given.signal), 'failed')
      given.abort()
      await copying
      expect(await store().list()).not.toContain(other)
      await expectCode(store().measure(other), 'not_found')

      const use = await copy({ ...all, from, id }, never)
      expect(use.used_bytes).toBeGreaterThan(32 * MB)
      expect(use.used_bytes).toBeLessThan(48 * MB)
      await text(engine, machine.id, 'rm -r /data/a /data/hole; echo later > /data/closed/file; sync')
      // Once it is there it is not made again.
      expect(await copy({ ...all, from, id }, never)).toEqual(use)
      const second = await subject.running({ volumes: [{ ...mount, id }] })
      expect(await text(engine, second.id, tell)).toBe(before)
      await text(engine, second.id, 'echo mine > /data/closed/file')
      expect(await text(engine, machine.id, 'cat /data/closed/file')).toBe('later\n')
      await engine.machines.remove(machine.id, never)
      await store().delete(from)
      expect(await text(engine, second.id, 'cat /data/closed/file; stat -c %h /data/a/second')).toBe(
        'mine\n2\n',
      )
      await engine.machines.remove(second.id, never)
      await store().delete(id)
    },
  )
}
