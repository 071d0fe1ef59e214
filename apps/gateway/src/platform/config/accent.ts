import * as z from 'zod'

/** The tokens of the console that a brand's accent replaces, in one theme. */
export interface AccentTokens {
  '--accent': string
  '--accent-hover': string
  '--accent-wash': string
  '--on-accent': string
}

/** What the accent stands on as text; a test holds these to the console's own tokens. */
export const GROUNDS = {
  light: ['#f7f7f5', '#ffffff', '#f1f1ee'],
  dark: ['#0b0d0e', '#121516', '#0e1112', '#181c1d'],
} as const
type Theme = keyof typeof GROUNDS

const SURFACE: Record<Theme, string> = { light: '#ffffff', dark: '#121516' }
/** Text on the accent: whichever of the two can be read better. */
const ON_ACCENT = ['#ffffff', '#0b0d0e'] as const
/** How much of the accent is in its wash, and of black or white in what it becomes under the pointer. */
const WASH = { light: 0.12, dark: 0.14 } as const
const HOVER = 0.14

/** WCAG 1.4.3: text on its ground. */
const CONTRAST_MIN = 4.5

const color = (theme: Theme) =>
  z
    .string()
    .regex(/^#[0-9a-f]{6}$/, 'must be a colour such as "#0b6e66", in lower case')
    .superRefine((value, context) => {
      for (const message of faultsOf(value, theme)) context.addIssue({ code: 'custom', message })
    })

/** A brand's accent, for each theme; one that cannot be read is refused (B13). */
export const accent = z.strictObject({ light: color('light'), dark: color('dark') })

/**
 * The tokens that follow from an accent.
 * @param value `#rrggbb`.
 * @param theme Where it stands.
 */
export function accentTokens(value: string, theme: Theme): AccentTokens {
  const hover = mix(value, theme === 'light' ? '#000000' : '#ffffff', HOVER)
  const [one, other] = ON_ACCENT
  const worst = (text: string) => Math.min(contrast(text, value), contrast(text, hover))
  return {
    '--accent': value,
    '--accent-hover': hover,
    '--accent-wash': mix(SURFACE[theme], value, WASH[theme]),
    '--on-accent': worst(one) >= worst(other) ? one : other,
  }
}

/** What cannot be read, in words. */
function faultsOf(value: string, theme: Theme): string[] {
  const tokens = accentTokens(value, theme)
  const pairs = [
    ...GROUNDS[theme].map(ground => [value, ground, `as text on ${ground}`] as const),
    [value, tokens['--accent-wash'], `as text on its wash ${tokens['--accent-wash']}`] as const,
    [tokens['--on-accent'], value, 'under text'] as const,
    [tokens['--on-accent'], tokens['--accent-hover'], 'under text, below the pointer'] as const,
  ]
  return pairs.flatMap(([text, ground, where]) => {
    const ratio = contrast(text, ground)
    return ratio >= CONTRAST_MIN
      ? []
      : [`has a contrast of ${ratio.toFixed(2)}:1 ${where} in the ${theme} theme; it takes ${CONTRAST_MIN}:1`]
  })
}

/** The contrast of two colours as WCAG counts it, 1 to 21. */
function contrast(one: string, other: string): number {
  const lights = [luminance(one), luminance(other)]
  return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05)
}

function luminance(value: string): number {
  const [red = 0, green = 0, blue = 0] = channels(value).map(channel => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(ground: string, paint: string, share: number): string {
  const paints = channels(paint)
  const mixed = channels(ground).map((channel, index) =>
    Math.round(channel * (1 - share) + (paints[index] ?? 0) * share),
  )
  return `#${mixed.map(channel => channel.toString(16).padStart(2, '0')).join('')}`
}

function channels(value: string): number[] {
  return [1, 3, 5].map(at => Number.parseInt(value.slice(at, at + 2), 16))
}
