import { SETTINGS } from './settings.ts'

/** Width at which comments of `.env.example` are broken. */
const COLUMNS = 100

/** The file `.env.example`: every setting with its default, commented out. */
export function envExample(): string {
  const parts = Object.entries(SETTINGS).map(([name, { about, takes, default: value }]) =>
    [...wrap(about), ...wrap(`Takes ${takes}.`), `#${name}=${value}`].join('\n'),
  )
  const head = wrap(
    'Settings of the gateway. Copy this file to .env and take the # away from the lines that you change. A secret may be ' +
      'in a file: NAME_FILE says where the value of NAME is. ' +
      'Made from apps/gateway/src/platform/config/settings.ts.',
  )
  return `${head.join('\n')}\n\n${parts.join('\n\n')}\n`
}

/** The table of settings in the operating guide, in Markdown. */
export function settingsTable(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, { about, takes, default: value, secret }]) =>
      `| \`${name}\`${secret ? ' (or `_FILE`)' : ''} | ${value === '' ? 'empty' : `\`${value}\``} | ${about} Takes ${takes}. |`,
  )
  return ['| Setting | Default | What it does |', '|---|---|---|', ...rows, ''].join('\n')
}

/**
 * The schema of the Helm chart's values, with the settings that its values may name.
 * @param schema As it stands.
 * @param own Settings that the chart gives by itself.
 */
export function chartSchema(schema: string, own: readonly string[]): string {
  const made = JSON.parse(schema) as ChartSchema
  const { settings, secrets } = made.properties
  const names = (isSecret: boolean) =>
    Object.entries(SETTINGS).flatMap(([name, { secret }]) => (secret === isSecret ? [name] : []))
  settings.propertyNames.enum = names(false).filter(name => !own.includes(name))
  secrets.properties.settings.items.enum = names(true)
  return `${JSON.stringify(made, null, 2)}\n`
}

/** The places in it that list settings. */
interface ChartSchema {
  properties: {
    settings: { propertyNames: { enum: string[] } }
    secrets: { properties: { settings: { items: { enum: string[] } } } }
  }
}

function wrap(text: string): string[] {
  const lines: string[] = []
  let line = '#'
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > COLUMNS) {
      lines.push(line)
      line = '#'
    }
    line += ` ${word}`
  }
  return [...lines, line]
}
