import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { TAR_END, type TarHeader, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { readBaseFiles } from './base-files.ts'
import { type MachineLayer, writeMachineLayer } from './machine-layer.ts'

/**
 * Goal: the layer of a machine is what it has over its image, whatever the machine says, and nothing leads out of it.
 * Method: archives and lists as programs of a machine would write them, and GNU tar for what is read out of the layer.
 */

const dir = mkdtempSync(join(tmpdir(), 'berth-machine-layer-'))
afterAll(() => rmSync(dir, { recursive: true }))

const STARTED_S = 1_000
const BEFORE = STARTED_S - 1
const AFTER = STARTED_S + 1
let made = 0

type Entry = Pick<TarHeader, 'name'> & Partial<TarHeader> & { content?: string }

function archiveOf(entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ content = '', ...entry }) => {
    const isFolder = entry.name.endsWith('/')
    const type = entry.type ?? (isFolder ? 'folder' : 'file')
    const header = { mode: isFolder ? 0o755 : 0o644, ...entry, type, size: Buffer.byteLength(content) }
    return [tarHeader(header), Buffer.from(content), tarPadding(header.size)]
  })
  return Buffer.concat([...parts, TAR_END])
}

async function* whole(bytes: Buffer) {
  yield bytes
}

/** When its inode changed, its kind, its path. */
type Seen = readonly [changedS: number, kind: string, path: string]

/** A machine of an image of these files, which has these, changed since its start, and these in its home. */
async function layerOf(what: {
  base: readonly Entry[]
  there: readonly Seen[]
  changed?: readonly Entry[]
  home?: readonly Entry[]
  limits?: Partial<MachineLayer>
}): Promise<string[]> {
  made += 1
  const path = join(dir, `base-${made}`)
  const out = join(dir, `layer-${made}`)
  writeFileSync(path, archiveOf(what.base))
  const list = what.there.map(([changedS, kind, at]) => `${changedS} ${kind} ${at}\0`).join('')
  await writeMachineLayer(
    {
      ...{ base: await readBaseFiles([{ path, packing: 'plain' }], 100), since_s: STARTED_S, home: '/root' },
      ...{ mounts: ['/proc', '/root', '/etc/hosts'], out, bytes_max: 1e6, files_max: 100, kept_bytes: 0 },
      ...what.limits,
    },
    {
      list: () => whole(Buffer.from(list)),
      changed: () => whole(archiveOf(what.changed ?? [])),
      home: () => whole(archiveOf(what.home ?? [])),
    },
    () => undefined,
  )
  return execFileSync('tar', ['-tf', out], { encoding: 'utf8' }).trim().split('\n').filter(Boolean)
}

const BASE: readonly Entry[] = ['etc/', 'etc/a', 'etc/hosts', 'opt/', 'opt/tool', 'root/'].map(name => ({
  name,
}))
/** As the image has it. */
const SAME: readonly Seen[] = [
  [BEFORE, 'd', './etc'],
  [BEFORE, 'f', './etc/a'],
  [AFTER, 'f', './etc/hosts'],
  [BEFORE, 'd', './opt'],
  [BEFORE, 'f', './opt/tool'],
  [AFTER, 'd', './root'],
]

describe('[R4.6] the layer of a machine of a cluster', () => {
  test('of one that changed nothing is empty', async () => {
    expect(await layerOf({ base: BASE, there: SAME })).toEqual([])
  })

  test('has what is new, and marks of what is gone: the uppermost of it', async () => {
    const left = SAME.filter(([, , path]) => !path.startsWith('./opt'))
    const there: Seen[] = [...left, [AFTER, 'f', './etc/b']]
    const changed = [{ name: './etc/' }, { name: './etc/b', content: 'new' }]
    expect(await layerOf({ base: BASE, there, changed })).toEqual(['etc/b', '.wh.opt'])
  })

  test('has its home, and nothing of what others have mounted in it', async () => {
    const changed = [{ name: './etc/hosts', content: 'of its node' }, { name: './tmp/.berth-command-end' }]
    const home = [{ name: './root/' }, { name: './root/kept', content: 'x' }]
    expect(await layerOf({ base: BASE, there: SAME, changed, home })).toEqual(['root/kept'])
  })

  test('is refused where a folder of the image was renamed in place, since nobody sends what is in it', async () => {
    const renamed: Seen[] = [...SAME, [BEFORE, 'f', './srv/tool']]
    await expect(layerOf({ base: BASE, there: renamed })).rejects.toThrow('was renamed in it')
  })

  test('[B7] ends at its limits of bytes and of files, in the list and in the archive', async () => {
    const large = [{ name: './etc/b', content: 'x'.repeat(10_000) }]
    const of = (limits: Partial<MachineLayer>) => layerOf({ base: BASE, there: SAME, changed: large, limits })
    await expect(of({ bytes_max: 5_000 })).rejects.toMatchObject({ fault: 'too_large' })
    await expect(of({ files_max: 5 })).rejects.toMatchObject({ fault: 'too_large' })
    const many = Array.from({ length: 200 }, (_, at) => ({ name: `./etc/${at}` }))
    await expect(layerOf({ base: BASE, there: SAME, changed: many })).rejects.toMatchObject({
      fault: 'too_large',
    })
  })

  test('[B7] leads nowhere outside of it, whatever names a machine makes up', async () => {
    const part = fc.constantFrom('..', '.', '', 'etc', 'opt', '.wh.etc', '.wh..wh..opq', 'root', '\n', 'é')
    const name = fc.array(part, { minLength: 1, maxLength: 5 }).map(parts => parts.join('/'))
    await fc.assert(
      fc.asyncProperty(fc.array(name, { maxLength: 6 }), async names => {
        const told = await layerOf({
          base: BASE,
          there: [...SAME, ...names.map((path): Seen => [AFTER, 'f', path])],
          changed: names.flatMap(one => (one === '' ? [] : [{ name: one, type: 'file' as const }])),
        }).catch((error: Error) => error.message)
        if (typeof told === 'string') return
        expect(told.filter(one => one.startsWith('/') || one.split('/').includes('..'))).toEqual([])
        // What a machine has is never a mark that something of its image is gone.
        expect(told.filter(one => one.includes('.wh.'))).toEqual([])
      }),
      { numRuns: 150 },
    )
  })
})
