import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const TOKENS = readFileSync(new URL('../src/app/theme/tokens.css', import.meta.url), 'utf8')

/** Text on a ground, by token. WCAG asks 4.5:1 of text (1.4.3). */
const PAIRS = [
  ...['--text', '--dim', '--faint', '--accent', '--good', '--warning', '--bad', '--info'].flatMap(text =>
    ['--ground', '--surface', '--sunk', '--control-surface'].map(ground => [text, ground] as const),
  ),
  ['--on-accent', '--accent'],
  ['--on-accent', '--accent-hover'],
  ['--on-bad', '--bad'],
  ['--on-bad', '--bad-hover'],
  ['--accent', '--accent-wash'],
  ['--bad', '--bad-wash'],
  ['--good', '--good-wash'],
  ['--info', '--info-wash'],
  ['--warning', '--warning-wash'],
  ['--text', '--warning-wash'],
  ['--text', '--hover'],
  ['--dim', '--hover'],
] as const

test.each(['light', 'dark'].flatMap(theme => PAIRS.map(pair => [theme, ...pair] as const)))(
  '[B13] in the %s theme %s can be read on %s',
  (theme, text, ground) => {
    const colors = tokensOf(theme)
    expect(contrast(colors[text] ?? '', colors[ground] ?? '')).toBeGreaterThanOrEqual(4.5)
  },
)

test('[R1.9] both themes have the same tokens', () => {
  expect(Object.keys(tokensOf('dark')).sort()).toEqual(Object.keys(tokensOf('light')).sort())
})

function tokensOf(theme: string): Record<string, string> {
  const block = TOKENS.match(new RegExp(`scheme="${theme}"\\] \\{([^}]+)\\}`))?.[1] ?? ''
  return Object.fromEntries(
    Array.from(block.matchAll(/(--[\w-]+): ([^;]+);/g), match => [match[1], match[2]]),
  )
}

function contrast(first: string, second: string): number {
  const [light, dark] = [luminance(first), luminance(second)].toSorted((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const channels = [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16) / 255)
  const [red = 0, green = 0, blue = 0] = channels.map(value =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  )
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
