import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { NotAnArchive, TarReader } from '../../../../platform/tar/tar-reader.ts'
import { type OddEntry, packOdd } from '../registry-fixture.ts'
import { BadEntry, ImageTree } from './image-tree.ts'

const FILES_MAX = 20
const folder = mkdtempSync(join(tmpdir(), 'berth-tree-'))
let root = ''
let count = 0
beforeEach(() => {
  root = join(folder, `${++count}`, 'root')
  mkdirSync(root, { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Lays layers one over the other, their archives cut into pieces of that many bytes. */
function lay(layers: OddEntry[][], pieceBytes = 700): ImageTree {
  const tree = new ImageTree(root, { files_max: FILES_MAX, users: null })
  for (const entries of layers) {
    tree.nextLayer()
    const reader = new TarReader(entry => tree.lay(entry))
    const archive = packOdd(entries)
    for (let at = 0; at < archive.length; at += pieceBytes) reader.push(archive.subarray(at, at + pieceBytes))
    reader.end()
  }
  return tree
}

const read = (name: string) => readFileSync(join(root, name), 'utf8')
const dir = (name: string): OddEntry => ({ name, type: '5', mode: 0o555 })

test.each([1, 511, 512, 10_000])('layers lie over one another, in pieces of %d bytes', pieceBytes => {
  lay(
    [
      [dir('a/'), { name: 'a/one', content: 'x'.repeat(1_000) }, { name: 'a/two', content: 'two' }],
      [
        { name: 'a/one', content: 'new', mode: 0o4755 },
        { name: 'a/soft', type: '2', target: '/a/one' },
        { name: 'a/hard', type: '1', target: 'a/two' },
        { name: 'deep/er/file', content: 'deep' },
      ],
    ],
    pieceBytes,
  )
  expect([read('a/one'), read('a/two'), read('a/hard'), read('deep/er/file')]).toEqual([
    'new',
    'two',
    'two',
    'deep',
  ])
  // Nothing is another user's, and its own root may always change it.
  expect(lstatSync(join(root, 'a/one')).mode & 0o7777).toBe(0o755)
  expect(lstatSync(join(root, 'a')).mode & 0o7777).toBe(0o755)
  expect(readlinkSync(join(root, 'a/soft'))).toBe('/a/one')
})

test('whiteouts hide what lower layers have, and nothing of their own', () => {
  lay([
    [dir('a/'), { name: 'a/one' }, { name: 'a/two' }, dir('b/'), { name: 'b/one' }, { name: 'c/d/e' }],
    [
      { name: 'a/.wh.one' },
      { name: 'b/own' },
      { name: 'b/.wh..wh..opq' },
      { name: '.wh.c' },
      { name: '.wh..wh.plnk' },
      { name: '.wh.absent' },
    ],
  ])
  expect(readdirSync(join(root, 'a'))).toEqual(['two'])
  expect(readdirSync(join(root, 'b'))).toEqual(['own'])
  expect(readdirSync(root).sort()).toEqual(['a', 'b'])
})

test('links are followed as the machine would, and lead nowhere outside', () => {
  const outside = join(root, '../outside')
  mkdirSync(outside)
  lay([
    [
      { name: 'lib', type: '2', target: 'usr/lib' },
      dir('usr/lib'),
      { name: 'abs', type: '2', target: outside },
      { name: 'up', type: '2', target: '../../../../outside' },
    ],
    [
      { name: 'lib/one', content: 'one' },
      { name: 'abs/two', content: 'two' },
      { name: 'up/three', content: 'three' },
      { name: 'up/.wh.x' },
    ],
  ])
  expect(read('usr/lib/one')).toBe('one')
  expect(read(`${outside}/two`)).toBe('two')
  expect(read('outside/three')).toBe('three')
  expect(readdirSync(outside)).toEqual([])
})

test('device nodes are not laid, and odd names are names', () => {
  lay([
    [
      { name: 'dev-char', type: '3' },
      { name: 'dev-block', type: '4' },
      { name: 'pipe', type: '6' },
      { name: '/at/the/root', content: 'x' },
      { name: 'new\nline', content: 'x' },
      { name: './.', type: '5' },
    ],
  ])
  expect(readdirSync(root).sort()).toEqual(['at', 'new\nline'])
})

test.each<[string, OddEntry[]]>([
  ['a name that leads up', [{ name: 'a/../../outside' }]],
  ['a name that is the way up', [{ name: '..' }]],
  ['a whiteout of what is above', [{ name: 'a/.wh...' }]],
  ['a hard link outward', [{ name: 'a', type: '1', target: '../../../../../../etc/hostname' }]],
  ['a hard link to nothing, which is there outside', [{ name: 'a', type: '1', target: '/etc/hostname' }]],
  [
    'links in a circle',
    [{ name: 'a', type: '2', target: 'b' }, { name: 'b', type: '2', target: 'a' }, { name: 'a/file' }],
  ],
  ['more files than may be', Array.from({ length: FILES_MAX + 1 }, (_, at) => ({ name: `${at}` }))],
  ['more folders than may be, by one name', [{ name: `${'a/'.repeat(FILES_MAX)}one` }]],
])('%s is refused', (_name, entries) => {
  expect(() => lay([entries])).toThrow(BadEntry)
  expect(existsSync(join(root, '../outside'))).toBe(false)
})

test('what is no archive, or is cut, says so', () => {
  const archive = packOdd([{ name: 'a', content: 'x'.repeat(2_000) }])
  for (const bytes of [Buffer.alloc(512, 'x'), archive.subarray(0, 1_000), archive.subarray(0, 100)]) {
    expect(() => {
      const reader = new TarReader(() => null)
      reader.push(bytes)
      reader.end()
    }).toThrow(NotAnArchive)
  }
})
