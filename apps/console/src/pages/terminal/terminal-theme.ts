import type { ITheme } from '@xterm/xterm'

/** How far the bright colours go from the plain ones towards the text. */
const BRIGHTER = 0.28

/**
 * The terminal's colours, from the console's tokens (src/app/theme/tokens.css).
 * @param token Reads a token by its name: `--bad` gives `#b42318`.
 */
export function terminalTheme(token: (name: string) => string): ITheme {
  const text = token('--text')
  const ground = token('--sunk')
  const bright = (name: string) => mix(token(name), text, BRIGHTER)
  // There is no token for magenta, which no status uses: it stands between red and blue.
  const magenta = mix(token('--bad'), token('--info'), 0.5)
  return {
    background: ground,
    foreground: text,
    cursor: token('--accent'),
    cursorAccent: ground,
    selectionBackground: mix(ground, token('--accent'), 0.28),
    selectionInactiveBackground: mix(ground, token('--accent'), 0.16),
    black: mix(ground, text, 0.12),
    red: token('--bad'),
    green: token('--good'),
    yellow: token('--warning'),
    blue: token('--info'),
    magenta,
    cyan: token('--accent'),
    white: token('--dim'),
    brightBlack: token('--faint'),
    brightRed: bright('--bad'),
    brightGreen: bright('--good'),
    brightYellow: bright('--warning'),
    brightBlue: bright('--info'),
    brightMagenta: mix(magenta, text, BRIGHTER),
    brightCyan: bright('--accent'),
    brightWhite: text,
  }
}

/**
 * A colour between two.
 * @param from Six hex digits after a `#`; anything else comes back as it is.
 * @param to The same.
 * @param share How much of `to`, from 0 to 1.
 */
export function mix(from: string, to: string, share: number): string {
  const a = channelsOf(from)
  const b = channelsOf(to)
  if (!a || !b) return from
  return `#${a
    .map((value, index) => Math.round(value + ((b[index] ?? value) - value) * share))
    .map(value => value.toString(16).padStart(2, '0'))
    .join('')}`
}

function channelsOf(color: string): number[] | null {
  const digits = /^#([0-9a-f]{6})$/i.exec(color.trim())?.[1]
  if (digits === undefined) return null
  return [0, 2, 4].map(at => Number.parseInt(digits.slice(at, at + 2), 16))
}
