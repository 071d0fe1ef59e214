import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type TarEntry, TarReader } from '../../../platform/tar/tar-reader.ts'
import { TAR_END, type TarHeader, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { layerEntries, NotForImages } from './layer-entries.ts'

const users = { first: 65_536, count: 65_536 }

function entryOf(header: Partial<TarHeader> & { name: string }): TarEntry {
  const found: TarEntry[] = []
  const reader = new TarReader(entry => {
    found.push(entry)
    return null
  })
  const full: TarHeader = { type: 'file', mode: 0o644, uid: 65_536, gid: 65_536, ...header }
  reader.push(
    Buffer.concat([tarHeader(full), Buffer.alloc(full.size ?? 0), tarPadding(full.size ?? 0), TAR_END]),
  )
  reader.end()
  const [entry] = found
  if (!entry) throw new Error('there is no entry')
  return entry
}

const told = (header: Partial<TarHeader> & { name: string }) => layerEntries(entryOf(header), users)
const marks = (name: string, value: string) => new Map([[name, Buffer.from(value)]])

test('[B20] what hides a file of the image is a file of OCI’s name, and a folder anew hides all of the one before', () => {
  expect(told({ name: './etc/gone', type: 'char', device: { major: 0, minor: 0 } })).toEqual([
    { name: 'etc/.wh.gone', type: 'file', mode: 0o644 },
  ])
  for (const prefix of ['trusted', 'user']) {
    const [folder, hiding] = told({
      name: './var/',
      type: 'folder',
      xattrs: marks(`${prefix}.overlay.opaque`, 'y'),
    })
    expect(folder).toMatchObject({ name: 'var/', type: 'folder' })
    expect(folder?.xattrs?.size).toBe(0)
    expect(hiding).toEqual({ name: 'var/.wh..wh..opq', type: 'file', mode: 0o644 })
  }
})

test('owners are those within the machine, and whoever it does not have is root', () => {
  const [mine] = told({ name: './a', uid: 65_536 + 1000, gid: 65_536 + 7 })
  expect(mine).toMatchObject({ uid: 1000, gid: 7 })
  expect(told({ name: './a', uid: 0, gid: 200_000 })[0]).toMatchObject({ uid: 0, gid: 0 })
})

test('devices, pipes, links and rights stay what they are; what only this kernel knows is left out', () => {
  expect(told({ name: './dev/x', type: 'block', device: { major: 8, minor: 1 } })[0]).toMatchObject({
    type: 'block',
    device: { major: 8, minor: 1 },
  })
  expect(told({ name: './pipe', type: 'fifo' })[0]).toMatchObject({ type: 'fifo' })
  expect(told({ name: './s', type: 'symlink', target: '/etc/x' })[0]).toMatchObject({ target: '/etc/x' })
  expect(told({ name: './h', type: 'hardlink', target: './etc/x' })[0]).toMatchObject({ target: 'etc/x' })
  const namespaced = Buffer.from('0100000300000000000000000000000000000000deadbeef', 'hex')
  const xattrs = new Map([
    ['security.capability', namespaced],
    ['user.mine', Buffer.from([0, 255, 10])],
    ['user.overlay.origin', Buffer.from('x')],
    ['trusted.overlay.impure', Buffer.from('y')],
    ['security.selinux', Buffer.from('z')],
  ])
  const [file] = told({ name: './ping', xattrs })
  expect([...(file?.xattrs ?? [])]).toEqual([
    ['security.capability', Buffer.from('0100000200000000000000000000000000000000', 'hex')],
    ['user.mine', Buffer.from([0, 255, 10])],
  ])
})

test('what would hide something elsewhere is left out, and what cannot be in an image says so', () => {
  expect(told({ name: './a/.wh.x' })).toEqual([])
  expect(told({ name: './.wh.dir/file' })).toEqual([])
  expect(told({ name: './', type: 'folder' })).toEqual([])
  expect(() =>
    told({ name: './b/', type: 'folder', xattrs: marks('trusted.overlay.redirect', '/a') }),
  ).toThrow(NotForImages)
  expect(() => told({ name: `./${'x/'.repeat(600)}y` })).toThrow(NotForImages)
})

test('whatever a file is called, no entry leads out of its layer', () => {
  const name = fc
    .array(fc.constantFrom('..', '.', '', 'a', '.wh.b', '.wh..wh..opq', '/'))
    .map(parts => parts.join('/'))
  fc.assert(
    fc.property(name, fc.constantFrom('file', 'folder', 'char', 'hardlink' as const), (text, type) => {
      let entries: TarHeader[] = []
      try {
        entries = told({ name: text, type: type as TarHeader['type'], target: text })
      } catch (error) {
        expect(error).toBeInstanceOf(NotForImages)
      }
      for (const entry of entries) {
        expect(entry.name.startsWith('/')).toBe(false)
        expect(entry.name.split('/')).not.toContain('..')
      }
    }),
  )
})
