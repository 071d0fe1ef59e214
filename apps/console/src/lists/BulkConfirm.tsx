import { Button, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import dialog from '../ui/ConfirmDialog.module.css'
import classes from './BulkDialog.module.css'

/** Names that are written out; of more, how many there are. */
const NAMES_SHOWN_MAX = 200

interface Named {
  key: string
  name: string
  /** What one would ask next. */
  second: string
}

interface BulkConfirmProps {
  /** What will happen to them, and what it will cost. */
  children: ReactNode
  items: readonly Named[]
  /** Those of the selection to which it cannot be done; `second` says why. */
  leftOut: readonly Named[]
  confirmLabel: string
  danger?: boolean
  /** What must be typed before it can be confirmed, and how that is asked for. */
  typed?: { text: string; label: string } | undefined
  /** Why it cannot be confirmed, in a sentence. */
  off?: string | null
  /** It cannot be confirmed yet: what it costs is being found out. */
  waits?: boolean
  onConfirm: () => void
  onCancel: () => void
}

/** Asks before something is done to many things: to which, to which not and why, and what it costs (R2.20). */
export function BulkConfirm(props: BulkConfirmProps) {
  const { items, leftOut, danger = false, typed, off = null, waits = false } = props
  const { t } = useTranslation(['bulk', 'common'])
  const [text, setText] = useState('')
  const isTyped = typed === undefined || text.trim() === typed.text
  const isOff = !isTyped || off !== null || waits
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (!isOff) props.onConfirm()
      }}
    >
      <div className={`${dialog.body} ${classes.body}`}>
        {props.children}
        <Names label={t('names', { count: items.length })} items={items} />
        {leftOut.length > 0 && (
          <>
            <p>{t('left_out', { count: leftOut.length })}</p>
            <Names label={t('left_out', { count: leftOut.length })} items={leftOut} isQuiet />
          </>
        )}
        {typed && (
          <TextInput
            label={typed.label}
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={event => setText(event.currentTarget.value)}
          />
        )}
      </div>
      {off && <p className={dialog.off}>{off}</p>}
      <div className={dialog.buttons}>
        <Button variant="default" onClick={props.onCancel} data-autofocus={danger || undefined}>
          {t('common:dialog.cancel')}
        </Button>
        <Button
          type="submit"
          color={danger ? 'bad' : 'accent'}
          variant="filled"
          disabled={isOff}
          data-autofocus={!danger || undefined}
        >
          {props.confirmLabel}
        </Button>
      </div>
    </form>
  )
}

/** Names one under the other, in a room of their own where they are many. */
function Names({ label, items, isQuiet }: { label: string; items: readonly Named[]; isQuiet?: boolean }) {
  const { t } = useTranslation('bulk')
  const more = items.length - NAMES_SHOWN_MAX
  return (
    <section
      className={classes.names}
      data-quiet={isQuiet || undefined}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
      tabIndex={0}
    >
      <ul>
        {items.slice(0, NAMES_SHOWN_MAX).map(({ key, name, second }) => (
          <li key={key}>
            <span className={classes.name}>{name}</span>
            <span className={classes.second}>{second}</span>
          </li>
        ))}
        {more > 0 && <li className={classes.second}>{t('more', { count: more })}</li>}
      </ul>
    </section>
  )
}
