import { expect, test } from 'vitest'
import { createBatchReader } from './batch-reader.ts'

test('questions of one turn share a read, and one key is read once', async () => {
  const { ask, reads, answer } = setup({ batchKeysMax: 10, readsMax: 1 })
  const answers = Promise.all([ask('a'), ask('b'), ask('a'), ask('missing')])
  await turn()
  expect(reads.map(({ keys }) => keys)).toEqual([['a', 'b', 'missing']])
  answer(0, 1)
  expect(await answers).toEqual(['a1', 'b1', 'a1', undefined])
})

test('a question never joins a read that has begun', async () => {
  const { ask, reads, answer } = setup({ batchKeysMax: 10, readsMax: 1 })
  const early = ask('a')
  await turn()
  const late = ask('a')
  await turn()
  expect(reads).toHaveLength(1)
  answer(0, 1)
  expect(await early).toBe('a1')
  await turn()
  answer(1, 2)
  expect(await late).toBe('a2')
})

test('a read has a limit, and the rest goes into the next', async () => {
  const { ask, reads, answer } = setup({ batchKeysMax: 2, readsMax: 2 })
  const answers = Promise.all([ask('a'), ask('b'), ask('c')])
  await turn()
  await turn()
  expect(reads.map(({ keys }) => keys)).toEqual([['a', 'b'], ['c']])
  answer(0, 1)
  answer(1, 1)
  expect(await answers).toEqual(['a1', 'b1', 'c1'])
})

test('a read that fails fails its own questions and no later ones', async () => {
  const { ask, reads, answer } = setup({ batchKeysMax: 10, readsMax: 1 })
  const failing = ask('a')
  await turn()
  reads[0]?.reject(new Error('away'))
  await expect(failing).rejects.toThrow('away')
  const next = ask('a')
  await turn()
  answer(1, 1)
  expect(await next).toBe('a1')
})

function setup(limits: { batchKeysMax: number; readsMax: number }) {
  const reads: ({ keys: string[] } & PromiseWithResolvers<Map<string, string>>)[] = []
  const ask = createBatchReader<string>({
    ...limits,
    read(keys) {
      const read = { keys, ...Promise.withResolvers<Map<string, string>>() }
      reads.push(read)
      return read.promise
    },
  })
  const answer = (index: number, version: number) => {
    const read = reads[index]
    const known = read?.keys.filter(key => key !== 'missing') ?? []
    read?.resolve(new Map(known.map(key => [key, `${key}${version}`])))
  }
  return { ask, reads, answer }
}

/** Lets the event loop go round once. */
function turn() {
  return new Promise(resolve => setImmediate(resolve))
}
