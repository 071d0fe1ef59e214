import { ENV_VARIABLES_MAX } from '@berth/contract/limits'
import { Input } from '@mantine/core'
import { type ClipboardEvent, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './EnvField.module.css'
import { EnvRowFields } from './EnvRowFields.tsx'
import { type EnvRow, isLost, mergeRows, readPaste } from './env-rows.ts'

interface EnvFieldProps {
  rows: readonly EnvRow[]
  onChange: (rows: EnvRow[]) => void
  /** What is wrong at a path such as `env` or `env.HF_HOME`. */
  errorAt: (path: string) => ReactNode
  /** Names of secret variables whose values are kept unless others are typed. */
  kept?: ReadonlySet<string>
}

const NONE: ReadonlySet<string> = new Set()
const EMPTY: EnvRow = { name: '', value: '', secret: null }

/** Environment variables, a row each; a `.env` that is pasted anywhere among them fills the rows. */
export function EnvField({ rows, onChange, errorAt, kept = NONE }: EnvFieldProps) {
  const { t } = useTranslation(['deploy', 'errors'])
  const [told, setTold] = useState('')
  const paste = (event: ClipboardEvent, isValue: boolean) => {
    const parsed = readPaste(event.clipboardData.getData('text'), isValue)
    if (!parsed) return
    event.preventDefault()
    const merged = mergeRows(rows, parsed.variables)
    const left = parsed.left + Math.max(0, merged.length - ENV_VARIABLES_MAX)
    onChange(merged.slice(0, ENV_VARIABLES_MAX))
    setTold(
      [
        parsed.tooLong ? t('env.too_long') : t('env.pasted', { count: parsed.variables.length }),
        ...(parsed.unread.length > 0 ? [t('env.unread', { lines: linesText(parsed.unread) })] : []),
        ...(left > 0 ? [t('env.left', { count: left, max: ENV_VARIABLES_MAX })] : []),
      ].join(' '),
    )
  }
  const errorOf = (row: EnvRow, at: number) =>
    isLost(row) ? t('errors:rules.env_renamed') : errorAt(at === rows.length ? 'env' : `env.${row.name}`)
  // The empty row at the end becomes one of them with its first letter, and the next one stands under it.
  const shown = rows.length < ENV_VARIABLES_MAX ? [...rows, EMPTY] : rows
  return (
    <div className={classes.env}>
      <div>
        <Input.Label component="div">{t('env.label')}</Input.Label>
        <Input.Description>{t('env.note')}</Input.Description>
      </div>
      {shown.map((row, at) => (
        <EnvRowFields
          // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed; a row is its place.
          key={at}
          row={row}
          at={at + 1}
          isNew={at === rows.length}
          isKept={kept.has(row.name) && row.value === ''}
          error={errorOf(row, at)}
          onChange={changed => {
            setTold('')
            onChange(shown.slice(0, Math.max(rows.length, at + 1)).with(at, changed))
          }}
          onRemove={() => onChange(rows.toSpliced(at, 1))}
          onPaste={paste}
        />
      ))}
      <p className={classes.told} role="status">
        {told}
      </p>
    </div>
  )
}

/** At most so many numbers of lines are named. */
const LINES_NAMED_MAX = 8

function linesText(lines: readonly number[]): string {
  const named = lines.slice(0, LINES_NAMED_MAX).join(', ')
  return lines.length > LINES_NAMED_MAX ? `${named} …` : named
}
