import { Button } from '@mantine/core'
import { type KeyboardEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isComposing } from './composing.ts'
import classes from './PromptView.module.css'

interface EditPromptProps {
  text: string
  isFollowed: boolean
  onCancel: () => void
  onSend: (text: string) => void
}

/** Changes an earlier prompt and asks again from there on. */
export function EditPrompt({ text, isFollowed, onCancel, onSend }: EditPromptProps) {
  const { t } = useTranslation(['chat', 'common'])
  const [typed, setTyped] = useState(text)
  const send = () => typed.trim() !== '' && onSend(typed)
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    if (event.key === 'Escape') onCancel()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    send()
  }
  return (
    <form
      className={classes.edit}
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        className={classes.field}
        aria-label={t('turn.edit')}
        // biome-ignore lint/a11y/noAutofocus: whoever pressed the pencil goes on in the field that it opened.
        autoFocus
        rows={2}
        value={typed}
        onChange={event => setTyped(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {isFollowed && <p className={classes.note}>{t('turn.edit_note')}</p>}
      <div className={classes.buttons}>
        <Button variant="default" onClick={onCancel}>
          {t('common:dialog.cancel')}
        </Button>
        <Button type="submit" aria-disabled={typed.trim() === '' || undefined}>
          {t('turn.resend')}
        </Button>
      </div>
    </form>
  )
}
