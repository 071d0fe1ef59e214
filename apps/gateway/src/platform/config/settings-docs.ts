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
