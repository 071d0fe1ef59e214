import { expect, test } from 'vitest'
import { createGathered } from './gathered.ts'

/** Gathers words; each batch ends when it is told to. */
function words(togetherMax = 10, atOnceMax = 2) {
  const begun: { who: string; works: readonly string[]; end: (error?: Error) => void }[] = []
  const { together: say, alone } = createGathered<string, string>({
    togetherMax,
    atOnceMax,
    run: (who, works) =>
      new Promise((resolve, reject) =>
        begun.push({
          who,
          works,
          end: error =>
            error
              ? reject(error)
              : resolve(
                  works.map(work =>
                    work === 'bad'
                      ? { status: 'rejected', reason: new Error('bad') }
                      : { status: 'fulfilled', value: `${work}!` },
                  ),
                ),
        }),
      ),
  })
  return { begun, say, alone }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('what is alone runs at once, and what comes meanwhile runs together', async () => {
  const { begun, say } = words()
  const all = ['a', 'b', 'c'].map(word => say('one', word))
  expect(begun.map(({ works }) => works)).toEqual([['a']])
  begun[0]?.end()
  await settled()
  expect(begun.map(({ works }) => works)).toEqual([['a'], ['b', 'c']])
  begun[1]?.end()
  expect(await Promise.all(all)).toEqual(['a!', 'b!', 'c!'])
})

test('one that fails does not take along those that ran with it, and what throws fails them all', async () => {
  const { begun, say } = words()
  const all = Promise.allSettled(['a', 'bad', 'c', 'd'].map(word => say('one', word)))
  begun[0]?.end()
  await settled()
  begun[1]?.end()
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  const next = say('one', 'e')
  await settled()
  begun[2]?.end(new Error('nothing goes'))
  await expect(next).rejects.toThrow('nothing goes')
})

test('no more than so many run together, and of no more than so many at a time', async () => {
  const { begun, say } = words(2, 2)
  const all = [...['a', 'b', 'c', 'd'].map(word => say('one', word)), say('two', 'x'), say('three', 'y')]
  expect(begun.map(({ who }) => who)).toEqual(['one', 'two'])
  begun[0]?.end()
  await settled()
  // Its turn passed to who waited; then it comes again, with two of the three that wait.
  expect(begun.map(({ who }) => who)).toEqual(['one', 'two', 'three'])
  begun[1]?.end()
  await settled()
  expect(begun[3]?.works).toEqual(['b', 'c'])
  for (const nth of [2, 3]) begun[nth]?.end()
  await settled()
  begun[4]?.end()
  expect(await Promise.all(all)).toHaveLength(6)
})

test('what has its turn for itself keeps its place in the line, and what it throws is its own', async () => {
  const { begun, say, alone } = words()
  const first = say('one', 'a')
  const second = [say('one', 'b'), say('one', 'c')]
  const own = Promise.withResolvers<string>()
  let ownBegun = false
  const third = alone('one', () => {
    ownBegun = true
    return own.promise
  })
  const last = say('one', 'd')
  begun[0]?.end()
  await settled()
  expect(begun.map(({ works }) => works)).toEqual([['a'], ['b', 'c']])
  expect(ownBegun).toBe(false)
  begun[1]?.end()
  await settled()
  expect(ownBegun).toBe(true)
  expect(begun).toHaveLength(2)
  own.reject(new Error('not today'))
  await expect(third).rejects.toThrow('not today')
  await settled()
  expect(begun[2]?.works).toEqual(['d'])
  begun[2]?.end()
  expect(await Promise.all([first, ...second, last])).toEqual(['a!', 'b!', 'c!', 'd!'])
})
