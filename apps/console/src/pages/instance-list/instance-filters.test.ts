import { CHANGING_STATUSES, INSTANCE_STATUSES } from '@berth/contract/instance-states'
import { expect, test } from 'vitest'
import { madeInstance } from '../../instances/instance-fixture.ts'
import { pollMs } from '../../instances/poll-ms.ts'
import { countGroups, findInstances, groupOf, inGroup } from './instance-filters.ts'
import { askedSearch, instanceSearch } from './search.ts'

test('[R2.26] every status belongs to one group, and the counts add up', () => {
  const all = INSTANCE_STATUSES.map(status => madeInstance({ status }))
  const counts = countGroups(all)
  expect(counts).toEqual({ all: 11, running: 1, changing: CHANGING_STATUSES.length, stopped: 2, error: 2 })
  expect(counts.running + counts.changing + counts.stopped + counts.error).toBe(counts.all)
  for (const group of ['running', 'changing', 'stopped', 'error'] as const) {
    expect(inGroup(all, group)).toHaveLength(counts[group])
  }
  expect(inGroup(all, 'all')).toHaveLength(11)
  expect(groupOf('exited')).toBe('stopped')
  expect(groupOf('unknown')).toBe('error')
})

test('the search looks into name, id and image, and not elsewhere', () => {
  const rows = [
    madeInstance({ name: 'llama-finetune', instance_id: 'i-7q2m9x', image_name: 'PyTorch 2.9' }),
    madeInstance({ name: 'comfy-studio', instance_id: 'i-1d8vka', image_name: 'ComfyUI 0.9' }),
  ]
  expect(findInstances(rows, '  LLAMA ')).toEqual([rows[0]])
  expect(findInstances(rows, '1d8v')).toEqual([rows[1]])
  expect(findInstances(rows, 'pytorch')).toEqual([rows[0]])
  // Typed with an input method for full-width letters.
  expect(findInstances(rows, 'ｃｏｍｆｙ')).toEqual([rows[1]])
  expect(findInstances(rows, '   ')).toEqual(rows)
  expect(findInstances(rows, 'rtx')).toEqual([])
})

test('an address with anything in it gives filters that work', () => {
  expect(instanceSearch.parse({})).toEqual({ status: 'all', q: '' })
  expect(instanceSearch.parse({ status: 'stopped', q: 'llama' })).toEqual({ status: 'stopped', q: 'llama' })
  expect(instanceSearch.parse({ status: 'gone', q: 'x'.repeat(101) })).toEqual({ status: 'all', q: '' })
})

test('the list is asked for by the second while something changes, and seldom otherwise', () => {
  for (const status of INSTANCE_STATUSES) {
    const rows = [madeInstance({ status: 'running' }), madeInstance({ status })]
    expect(pollMs(rows, false), status).toBe(CHANGING_STATUSES.includes(status) ? 1_000 : 10_000)
    expect(pollMs(rows, true), status).toBe(30_000)
  }
  expect(pollMs([], false)).toBe(10_000)
  expect(pollMs(undefined, false)).toBe(10_000)
})

test('an address asks for a dialog by its name, and for nothing that is no dialog', () => {
  expect(askedSearch.parse({ dialog: 'stop', instance: 'i-1' })).toEqual({ dialog: 'stop', instance: 'i-1' })
  expect(askedSearch.parse({ dialog: 'constructor', instance: 'x'.repeat(101) })).toEqual({
    dialog: '',
    instance: '',
  })
})
