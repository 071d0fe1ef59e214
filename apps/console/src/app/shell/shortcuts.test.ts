import { expect, test } from 'vitest'
import { createShortcutMatcher, type KeyPress, SHORTCUTS } from './shortcuts.ts'

test('no two shortcuts hide each other', () => {
  const rows = SHORTCUTS.map(({ keys }) => keys.join(' '))
  expect(new Set(rows).size).toBe(rows.length)
  for (const row of rows) {
    expect(rows.filter(other => other !== row && other.startsWith(`${row} `))).toEqual([])
  }
})

test.each(SHORTCUTS.map(one => [one.keys.join(' '), one] as const))('%s is found', (_, shortcut) => {
  expect(makeKeyboard().type(shortcut.keys)).toEqual([shortcut])
})

test('the keys of a pair may be a second apart, not longer, and nothing may come between', () => {
  expect(makeKeyboard({ pauseMs: 1_000 }).type(['g', 'i'])).toHaveLength(1)
  expect(makeKeyboard({ pauseMs: 2_000 }).type(['g', 'i'])).toEqual([])
  expect(makeKeyboard().type(['g', 'x', 'i'])).toEqual([])
  expect(makeKeyboard().type(['g', 'g', 'i'])).toHaveLength(1)
})

test.each([
  ['while one types', { typing: true }],
  ['in a dialog', { inDialog: true }],
  ['with Alt held', { alt: true }],
  ['with Ctrl held', { ctrl: true }],
  ['held down, or in the middle of a word of an input method', { partial: true }],
])('single characters do nothing %s', (_, change) => {
  for (const keys of [['?'], ['/'], ['['], ['g', 'i']]) {
    expect(makeKeyboard({ change }).type(keys), keys.join(' ')).toEqual([])
  }
})

test('AltGr types a bracket on many keyboards, and that is a bracket', () => {
  const change = { altGraph: true, ctrl: true, alt: true }
  expect(makeKeyboard({ change }).type(['['])).toMatchObject([{ act: 'menu' }])
})

test('switched off, single characters do nothing, and Ctrl+K still works', () => {
  const keyboard = makeKeyboard({ singleKeys: false })
  expect(keyboard.type(['?', '/', '[', 'g', 'i'])).toEqual([])
  expect(keyboard.type(['mod', 'k'])).toMatchObject([{ act: 'palette' }])
})

test('Ctrl+K works while one types, and as Cmd+K', () => {
  expect(makeKeyboard({ change: { typing: true } }).type(['mod', 'k'])).toHaveLength(1)
  expect(makeKeyboard({ change: { meta: true } }).type(['k'])).toHaveLength(1)
})

/** Types keys with a pause between; `mod` holds Ctrl with the next one. */
function makeKeyboard({
  pauseMs = 100,
  singleKeys = true,
  change = {},
}: {
  pauseMs?: number
  singleKeys?: boolean
  change?: Partial<KeyPress>
} = {}) {
  let now = 0
  const match = createShortcutMatcher({ now: () => now, singleKeysOn: () => singleKeys })
  const plain: KeyPress = {
    key: '',
    ctrl: false,
    meta: false,
    alt: false,
    altGraph: false,
    partial: false,
    typing: false,
    inDialog: false,
  }
  return {
    type(keys: readonly string[]) {
      const found = keys.map((key, index) => {
        if (key === 'mod') return null
        now += pauseMs
        const held = keys[index - 1] === 'mod' ? { ctrl: true } : {}
        return match({ ...plain, ...held, ...change, key })
      })
      return found.filter(shortcut => shortcut !== null)
    },
  }
}
