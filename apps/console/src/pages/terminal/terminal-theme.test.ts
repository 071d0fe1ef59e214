import { expect, test } from 'vitest'
import { mix, terminalTheme } from './terminal-theme.ts'

test('a mixed colour lies between its two', () => {
  expect(mix('#000000', '#ffffff', 0)).toBe('#000000')
  expect(mix('#000000', '#ffffff', 0.5)).toBe('#808080')
  expect(mix('#000000', '#ff0080', 1)).toBe('#ff0080')
})

test('a brand’s colour in another notation is left as it is', () => {
  expect(mix('rgb(1 2 3)', '#ffffff', 0.5)).toBe('rgb(1 2 3)')
  expect(mix('#123456', 'teal', 0.5)).toBe('#123456')
})

test('every colour of the terminal comes from a token', () => {
  const theme = terminalTheme(name => (name === '--sunk' ? '#0e1112' : '#e8ecec'))
  const missing = Object.entries(theme).filter(([, color]) => !/^#[0-9a-f]{6}$/.test(String(color)))
  expect(missing).toEqual([])
  expect(theme.background).toBe('#0e1112')
})
