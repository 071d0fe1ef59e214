import { act, renderHook } from '@testing-library/react'
import { expect, test } from 'vitest'
import { useShells } from './use-shells.ts'

const makeShells = (shown: number) => renderHook(({ shown }) => useShells(shown), { initialProps: { shown } })

test('[R2.23] the shell in sight has a tab at once, another one once it is known how many there may be', () => {
  const { result } = makeShells(2)
  expect(result.current).toMatchObject({ listed: [2], seen: [2], max: null, next: null })
  act(() => result.current.found({ sessions: [4], sessions_max: 8, has_serial: false }))
  expect(result.current).toMatchObject({ listed: [2, 4], seen: [2], max: 8, next: 1 })
})

test('[B9] what the gateway does not name keeps its tab, and what was looked at keeps its screen', () => {
  const { result, rerender } = makeShells(1)
  act(() => result.current.found({ sessions: [1, 3], sessions_max: 8, has_serial: false }))
  rerender({ shown: 3 })
  act(() => result.current.found({ sessions: [], sessions_max: 8, has_serial: false }))
  expect(result.current).toMatchObject({ listed: [1, 3], seen: [1, 3] })
})

test('[R2.23] there is no other where all numbers are taken', () => {
  const { result } = makeShells(1)
  act(() => result.current.found({ sessions: [1, 2, 3, 4, 5, 6, 7, 8], sessions_max: 8, has_serial: false }))
  expect(result.current.next).toBeNull()
})

test('[R2.23] a tab that is closed in sight stays away, and its neighbour is shown', () => {
  const { result, rerender } = makeShells(3)
  act(() => result.current.found({ sessions: [1, 3, 5], sessions_max: 8, has_serial: false }))
  let next: number | null = null
  act(() => {
    next = result.current.drop(3)
  })
  expect(next).toBe(1)
  expect(result.current).toMatchObject({ listed: [1, 5], seen: [], next: 2 })
  rerender({ shown: 1 })
  expect(result.current).toMatchObject({ listed: [1, 5], seen: [1] })
  act(() => {
    next = result.current.drop(1)
  })
  expect(next).toBe(5)
})

test('[R2.23] when all are ended the one in sight keeps its tab alone', () => {
  const { result } = makeShells(5)
  act(() => result.current.found({ sessions: [1, 5], sessions_max: 8, has_serial: false }))
  act(() => result.current.dropOthers())
  expect(result.current).toMatchObject({ listed: [5], seen: [5], next: 1 })
})

test('[R2.23] the serial console of a virtual machine has a tab before all others, which goes with none of them', () => {
  const { result } = makeShells(1)
  act(() => result.current.found({ sessions: [1], sessions_max: 8, has_serial: true }))
  expect(result.current).toMatchObject({ listed: [0, 1], seen: [1], next: 2 })
  let next: number | null = null
  act(() => {
    next = result.current.drop(1)
  })
  expect(next).toBe(0)
  act(() => result.current.dropOthers())
  expect(result.current.listed).toEqual([0, 1])
})
