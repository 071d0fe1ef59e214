import { accentTokens } from '../config/accent.ts'
import type { Brand } from '../config/brands.ts'
import { NONCE_PLACEHOLDER } from './page-security.ts'

/** What the build writes where the page says its brand; the console reads it before it asks for anything. */
const BRAND_PLACEHOLDER = '__BRAND__'

/**
 * The console's page as a brand has it (R1.10), so that no other name, mark or colour flashes up first.
 * @param html The built page.
 * @param brand The brand of the host.
 */
export function brandPage(html: string, brand: Brand): string {
  const { name, logo } = brand
  const said = JSON.stringify({ name, logo: logo && { light: logo.light.url, dark: logo.dark.url } })
  return html
    .replace(BRAND_PLACEHOLDER, () => escapeText(said))
    .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeText(name)}</title>`)
    .replace(/<link rel="icon"[^>]*>/, icon => (logo ? iconsOf(logo) : icon))
    .replace('</head>', head => accentStyle(brand) + head)
}

function iconsOf(logo: NonNullable<Brand['logo']>): string {
  const link = (theme: 'light' | 'dark') =>
    `<link rel="icon" href="${escapeText(logo[theme].url)}" media="(prefers-color-scheme: ${theme})" />`
  return link('light') + link('dark')
}

/** Stands behind the style sheet, whose tokens it replaces. */
function accentStyle({ accent }: Brand): string {
  if (!accent) return ''
  const rules = (['light', 'dark'] as const).map(theme => {
    const tokens = Object.entries(accentTokens(accent[theme], theme))
    return `:root[data-mantine-color-scheme="${theme}"]{${tokens.map(([name, value]) => `${name}:${value}`).join(';')}}`
  })
  return `<style nonce="${NONCE_PLACEHOLDER}">${rules.join('')}</style>`
}

function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`)
}
