import { expect, test } from 'vitest'
import { createKnown } from './known.ts'

test('[R2.25] a key is asked for once in a while, at once after a change, and again where a change came meanwhile', async () => {
  let now = 0
  let asked = 0
  let answer = Promise.withResolvers<string>()
  const known = createKnown<string>({ now: () => now, knownMs: 5_000, most: 2 })
  const find = (name = 'key') =>
    known.find(name, () => {
      asked += 1
      return answer.promise
    })
  answer.resolve('told')
  await Promise.all([find(), find()])
  await find()
  expect(asked).toBe(1)
  now = 5_000
  await find()
  expect(asked).toBe(2)
  for (const [forgotten, before] of [
    [null, 2],
    ['key', 4],
  ] as const) {
    known.forget(forgotten)
    answer = Promise.withResolvers()
    const old = find()
    expect(asked).toBe(before + 1)
    known.forget(forgotten)
    answer.resolve('told')
    await old
    await find()
    expect(asked).toBe(before + 2)
  }
  await find('other')
  known.forget('other')
  await find()
  expect(asked).toBe(7)
})

test('no more are kept than there is room for, none that is not to be, and no more asked for at once than may be', async () => {
  const known = createKnown<string>({ now: () => 0, knownMs: 5_000, most: 2, askedMost: 2 })
  let asked: string[] = []
  const find = (name: string, isKept = true) =>
    known.find(
      name,
      async () => {
        asked.push(name)
        return name
      },
      () => isKept,
    )
  for (const name of ['a', 'b', 'c']) await find(name)
  await find('odd', false)
  asked = []
  for (const name of ['c', 'b', 'odd', 'a']) await find(name)
  expect(asked).toEqual(['odd', 'a'])

  const never = Promise.withResolvers<string>()
  const waits = ['d', 'e', 'd'].map(name => known.find(name, () => never.promise))
  await expect(find('f')).rejects.toMatchObject({ code: 'SlowDown' })
  never.resolve('at last')
  expect(await Promise.all(waits)).toEqual(['at last', 'at last', 'at last'])
  expect(await find('f')).toBe('f')
})
