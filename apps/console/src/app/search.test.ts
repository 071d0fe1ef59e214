import { expect, test } from 'vitest'
import { parseSearch, stringifySearch } from './search.ts'

test('an address holds plain texts, and only what was chosen', () => {
  expect(stringifySearch({ status: 'running', q: '', page: undefined, size: 20 })).toBe(
    '?status=running&size=20',
  )
  expect(stringifySearch({})).toBe('')
})

test('what is written is read back as it was', () => {
  const values = { redirect: '/explore?kind=POD&x=1', q: 'ü & 100%', id: '007' }
  expect(parseSearch(stringifySearch(values))).toEqual(values)
})

test('of a repeated name the last one counts', () => {
  expect(parseSearch('?a=1&a=2')).toEqual({ a: '2' })
})
