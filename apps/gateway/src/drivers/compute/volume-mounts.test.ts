import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ComputeError } from './port/compute-error.ts'
import { checkMounts } from './volume-mounts.ts'

const mount = (path: string, id = 'vol-1') => ({ id, path, read_only: false })

test.each([['/data'], ['/mnt/a'], ['/root/models'], ['/workspace/a.b-c_d'], ['/etcetera']])(
  'a volume may be at %s',
  path => {
    expect(() => checkMounts([mount(path)])).not.toThrow()
  },
)

test.each([
  ['nowhere', ''],
  ['the root', '/'],
  ['a place that is relative', 'data'],
  ['the end of a folder', '/data/'],
  ['a way up', '/data/../etc'],
  ['a hidden folder', '/data/.hidden'],
  ['what the machine needs', '/usr/lib'],
  ['what the machine is told', '/etc'],
  ['what does not last', '/tmp/x'],
  ['two slashes', '//data'],
  ['too deep a place', '/a'.repeat(9)],
])('a volume is not put at %s', (_, path) => {
  expect(() => checkMounts([mount(path)])).toThrow(ComputeError)
})

test('no volume is inside another, and none is there twice', () => {
  expect(() => checkMounts([mount('/data'), mount('/data/deep', 'vol-2')])).toThrow('inside another')
  expect(() => checkMounts([mount('/data/deep'), mount('/data', 'vol-2')])).toThrow('inside another')
  expect(() => checkMounts([mount('/data'), mount('/data', 'vol-2')])).toThrow('inside another')
  expect(() => checkMounts([mount('/a'), mount('/b')])).toThrow('twice')
  expect(() => checkMounts([mount('/data'), mount('/database', 'vol-2')])).not.toThrow()
})

test('whatever is taken stays below the folder that it names', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('/', '.', 'a', 'data', 'etc', '-', ' ', '~'), maxLength: 12 }),
      path => {
        try {
          checkMounts([mount(path)])
        } catch (error) {
          expect(error).toBeInstanceOf(ComputeError)
          return
        }
        expect(new URL(`file://${path}`).pathname).toBe(path)
        expect(path).toMatch(/^\/[a-z]/)
      },
    ),
  )
})
